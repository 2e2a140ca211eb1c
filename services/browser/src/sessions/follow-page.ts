import type { ConsoleLog } from './console-log.ts';
import type { Tab } from './tab.ts';

const MAX_HAPPENINGS = 20;

/** Records what happens on a page, and answers what would block it: dialogs, downloads, file choosers. */
export function followPage(tab: Tab, consoleLog: ConsoleLog): void {
  const { page, happenings } = tab;
  consoleLog.follow(page);
  page.on('dialog', (dialog) => {
    const accepts = dialog.type() === 'alert' || dialog.type() === 'beforeunload';
    if (happenings.dialogs.length < MAX_HAPPENINGS) {
      happenings.dialogs.push(`${dialog.type()} ${accepts ? 'accepted' : 'dismissed'}: ${dialog.message().slice(0, 500)}`);
    }
    void (accepts ? dialog.accept() : dialog.dismiss()).catch(() => undefined);
  });
  page.on('download', (download) => {
    if (happenings.downloads.length < MAX_HAPPENINGS) happenings.downloads.push(download.suggestedFilename().slice(0, 500));
    void download.cancel().catch(() => undefined);
  });
  // Intercepted and left alone: no file of this machine is read.
  page.on('filechooser', () => undefined);
  page.on('crash', () => void page.close().catch(() => undefined));
  page.on('request', (request) => {
    if (!request.isNavigationRequest() || request.frame() !== page.mainFrame()) return;
    tab.requested = request.url();
    tab.navigating = true;
  });
  page.on('requestfailed', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame()) tab.navigating = false;
  });
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame()) return;
    tab.navigating = false;
    // Chromium itself refuses such addresses to pages; this is the second barrier.
    if (!/^(?:https?:|about:|blob:https?:|chrome-error:)/.test(frame.url())) void page.goto('about:blank').catch(() => undefined);
  });
}
