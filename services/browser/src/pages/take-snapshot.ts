import { ServiceError, type Params, type Result } from '@switchyard/contracts';
import type { Locator, Page } from 'playwright-core';
import type { Tab } from '../sessions/tab.ts';
import { describeFailure, isClosed, isTimeout, PageUnresponsive, withDeadline } from '../sessions/deadline.ts';
import { findStyledTargets, type StyledTarget } from '../sessions/styled-targets.ts';
import { readTitle } from './read-title.ts';
import { renderSnapshot, type AriaNode } from './render-snapshot.ts';
import { placeStyledTargets } from './place-styled-targets.ts';

/** Characters of the line that says how much is missing. */
const NOTICE_CHARS = 160;
const ROOT_TIMEOUT_MS = 1_000;

export interface SnapshotOptions {
  params: Params<'browser.snapshot'>;
  maxChars: number;
  timeoutMs: number;
}

/** Takes a snapshot of a tab. Its references replace those of the earlier snapshot. */
export async function takeSnapshot(tab: Tab, { params, maxChars, timeoutMs }: SnapshotOptions): Promise<Result<'browser.snapshot'>> {
  const { page } = tab;
  const nodes = await withDeadline(readTree(tab, params.selector, timeoutMs), timeoutMs + 500);
  const passwords = await withDeadline(findPasswords(page, nodes), timeoutMs);
  const refs = await tab.refs.begin(page);
  const rendered = renderSnapshot(nodes, { ...params, passwords, assignRef: (driverRef) => refs.assign(driverRef) });
  refs.commit();
  const { text, shown } = cut(rendered.lines, maxChars);
  const visible = Object.fromEntries(Object.entries(rendered.refs).filter(([ref]) => shown === undefined || text.includes(`[ref=${ref}]`)));
  return {
    snapshot: text,
    refs: visible,
    url: page.url(),
    title: await readTitle(page, timeoutMs),
    truncated: shown !== undefined,
    stats: {
      lines: shown ?? rendered.lines.length,
      chars: text.length,
      refs: Object.keys(visible).length,
      interactive: rendered.interactive,
    },
  };
}

async function readTree(tab: Tab, selector: string | undefined, timeout: number): Promise<(AriaNode | string)[]> {
  const { page } = tab;
  try {
    if (selector === undefined) {
      const tree = page.ariaSnapshotJSON({ mode: 'ai', timeout });
      const styled = findStyledTargets(page); // after the request for the tree, which it must not delay
      return placeStyledTargets(toNodes(await tree), await styled.collect());
    }
    const locator = (await tab.refs.locate(page, selector)).first();
    const tree: unknown = await locator.ariaSnapshotJSON({ mode: 'ai', timeout });
    return placeStyledTargets(toNodes(tree), await findWithin(page, locator));
  } catch (error) {
    if (isTimeout(error)) throw new PageUnresponsive();
    if (isClosed(error) || error instanceof ServiceError) throw error;
    throw new ServiceError('INVALID_ARGUMENT', `selector: ${describeFailure(error)}. Take a snapshot without selector to see the page.`);
  }
}

const toNodes = (tree: unknown): AriaNode[] => (Array.isArray(tree) ? tree : [tree]) as AriaNode[];

async function findWithin(page: Page, locator: Locator): Promise<StyledTarget[]> {
  await using element = await locator.elementHandle({ timeout: ROOT_TIMEOUT_MS }).catch(() => null);
  const frame = await element?.ownerFrame();
  if (!element || !frame) return [];
  // The handle must not be disposed before the search has ended.
  return await findStyledTargets(page, { element, frame }).collect();
}

/** Returns the refs of password fields. Pages without such fields cost one question per frame. */
async function findPasswords(page: Page, nodes: readonly (AriaNode | string)[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const candidates = listFilledFields(nodes);
  await Promise.all(
    candidates.map(async (ref) => {
      // A field that vanished in the meantime is masked.
      const type = await page
        .locator(`aria-ref=${ref}`)
        .evaluate((element) => (element as unknown as { type?: string }).type, undefined, { timeout: 1_000 })
        .catch(() => 'password');
      if (type === 'password') found.add(ref);
    }),
  );
  return found;
}

function listFilledFields(nodes: readonly (AriaNode | string)[]): string[] {
  return nodes.flatMap((node) => {
    if (typeof node === 'string') return [];
    const own = node.role === 'textbox' && node.text !== undefined && node.ref !== undefined ? [node.ref] : [];
    return [...own, ...listFilledFields(node.children ?? [])];
  });
}

/** Cuts the text at a line. `shown` is the number of lines that are left, if any is missing. */
function cut(lines: readonly string[], maxChars: number): { text: string; shown?: number } {
  const whole = lines.join('\n');
  if (whole.length <= maxChars) return { text: whole };
  const room = Math.max(maxChars - NOTICE_CHARS, 0);
  let chars = 0;
  let shown = 0;
  for (const line of lines) {
    if (chars + line.length + 1 > room) break;
    chars += line.length + 1;
    shown++;
  }
  const missing = `${lines.length - shown} more lines (${whole.length - chars} characters)`;
  const notice = `… ${missing}. Pass interactive, a selector or a larger maxChars.`.slice(0, maxChars);
  return { text: [...lines.slice(0, shown), notice].join('\n'), shown };
}
