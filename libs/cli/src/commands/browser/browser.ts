import { writeFile } from 'node:fs/promises';
import { group, type CommandContext } from '../../arguments/command-group.ts';
import { getNumber, getText } from '../../arguments/flags.ts';
import { print, printAs, remark, table } from '../../output/output.ts';

const EXTENSIONS: Readonly<Record<string, string>> = { 'image/png': 'png', 'image/jpeg': 'jpg' };

async function open({ call, output }: CommandContext, url?: string): Promise<void> {
  const answer = await call('browser.open', url === undefined ? {} : { url });
  if (output !== 'table') printAs(output, answer);
  else print(`${answer.tabId}\n`);
}

async function snapshot({ call, flags, output }: CommandContext): Promise<void> {
  const answer = await call('browser.snapshot', {
    ...('interactive' in flags && { interactive: true }),
    ...('links' in flags && { links: true }),
    ...getText(flags, 'selector', 'selector'),
    ...getNumber(flags, 'max-chars', 'maxChars'),
  });
  if (output !== 'table') return printAs(output, answer);
  print(`${answer.snapshot}\n`);
  remark(`${answer.title} ${answer.url}`);
}

async function screenshot({ call, flags, output }: CommandContext): Promise<void> {
  const {
    data,
    mimeType = 'image/png',
    ...size
  } = await call('browser.screenshot', {
    ...('full' in flags && { fullPage: true }),
    ...getText(flags, 'selector', 'selector'),
  });
  const out = flags['out'] ?? `screenshot.${EXTENSIONS[mimeType] ?? 'png'}`;
  const bytes = Buffer.from(data, 'base64');
  await writeFile(out, bytes);
  if (output !== 'table') printAs(output, { file: out, mimeType, sizeBytes: bytes.length, ...size });
  else print(`${out}: ${bytes.length} bytes of ${mimeType}, ${size.width ?? 0} x ${size.height ?? 0} pixels\n`);
}

async function tabs({ call, output }: CommandContext): Promise<void> {
  const answer = await call('browser.tabs', {});
  if (output !== 'table') return printAs(output, answer.tabs);
  if (answer.tabs.length === 0) return remark('No tab is open.');
  print(
    table(
      ['TAB', 'TITLE', 'ADDRESS'],
      answer.tabs.map(({ id, title, url }) => [id, title, url]),
    ),
  );
}

export const browser = group({
  name: 'browser',
  about: 'Opens pages in the browser of your token, and shows them as text or as an image.',
  otherwise: 'tabs',
  verbs: {
    tabs: { about: 'lists the open tabs', run: tabs },
    open: { takes: '[url]', about: 'opens a tab and prints its id; starts the browser if none is running', run: open },
    snapshot: {
      about: 'prints the focused page as text, with references for browser.act',
      flags: ['interactive', 'links', 'selector', 'max-chars'],
      run: snapshot,
    },
    screenshot: { about: 'writes an image of the focused page to a file', flags: ['full', 'selector', 'out'], run: screenshot },
  },
  flags: {
    interactive: { about: 'snapshot: only elements for actions' },
    links: { about: 'snapshot: with the addresses of links' },
    selector: { value: 'selector', about: 'only this element: a reference of a snapshot such as e12, or a CSS selector' },
    'max-chars': { value: 'n', about: 'snapshot: maximum length; default: browser.snapshotMaxChars' },
    full: { about: 'screenshot: the whole page instead of its visible part' },
    out: { value: 'file', about: 'screenshot: file to write; default: screenshot.png' },
  },
  examples: ['browser open https://example.com', 'browser snapshot --interactive', 'browser screenshot --full --out page.png'],
});
