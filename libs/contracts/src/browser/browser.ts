import { z } from 'zod';
import { Count, NoParams, Timestamp } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { SecretName } from '../secrets/operations.ts';
import { maxKeys } from '../values/max-keys.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const BrowserStatus = z.object({
  running: z.boolean(),
  url: boundedString(MAX.url).optional(),
  tabCount: Count.optional(),
  connected: z.boolean().optional(),
  chromeVersion: boundedString(MAX.name).optional(),
  notRestored: z
    .array(boundedString(MAX.name))
    .max(MAX.words)
    .optional()
    .describe('what was lost when another process took the browser over'),
});

export const BrowserStarted = z.object({ started: z.literal(true) });
export const BrowserStopped = z.object({ stopped: z.literal(true) });

/** The final URL of a navigation, after redirects. */
export const Navigation = z.object({ url: boundedString(MAX.url), title: boundedString(MAX.line), tabId: boundedString(MAX.id) });

/** The page as a tree of roles and names; `refs` are what `browser.act` takes as selector. */
export const PageSnapshot = z.object({
  snapshot: boundedString(MAX.payload),
  refs: z
    .record(
      boundedString(MAX.name),
      z.object({ role: boundedString(MAX.name), name: boundedString(MAX.name).optional(), nth: Count.optional() }),
    )
    .check(maxKeys(MAX.all)),
  url: boundedString(MAX.url),
  title: boundedString(MAX.line),
  truncated: z.boolean(),
  stats: z.object({ lines: Count, chars: Count, refs: Count, interactive: Count }),
});

export const Screenshot = z.object({
  data: boundedString(MAX.payload).describe('base64 of the image, PNG by default'),
  mimeType: boundedString(MAX.name).optional(),
  width: Count.optional(),
  height: Count.optional(),
});

export const PagePdf = z.object({
  data: boundedString(MAX.payload).describe('base64 of the PDF'),
  mimeType: boundedString(MAX.name).optional(),
});

/** Result of an action. A failure on the page is reported here and is no error of the call. */
export const ActResult = z.object({
  ok: z.boolean(),
  action: boundedString(MAX.line),
  error: boundedString(MAX.line).optional(),
  url: boundedString(MAX.url).optional().describe('the address, if the action changed it'),
  openedTabs: z.array(boundedString(MAX.id)).max(MAX.few).optional(),
  dialogs: z.array(boundedString(MAX.line)).max(MAX.few).optional().describe('dialogs of the page, and how they were answered'),
  downloads: z.array(boundedString(MAX.line)).max(MAX.few).optional().describe('file names of refused downloads'),
  value: boundedString(MAX.text).optional().describe('evaluate: the result as JSON'),
});

export const BrowserTab = z.object({ id: boundedString(MAX.name), url: boundedString(MAX.url), title: boundedString(MAX.line) });
export const BrowserTabs = z.object({ tabs: z.array(BrowserTab).max(MAX.all) });
export const TabOpened = z.object({ tabId: boundedString(MAX.id) });
export const TabFocused = z.object({ focused: z.literal(true), tabId: boundedString(MAX.id) });
export const TabClosed = z.object({ closed: z.literal(true), tabId: boundedString(MAX.id) });

export const ConsoleEntry = z.object({
  level: boundedString(MAX.name),
  text: boundedString(MAX.text),
  timestamp: Timestamp,
  location: boundedString(MAX.path).optional(),
});
export const ConsoleLog = z.object({ entries: z.array(ConsoleEntry).max(MAX.all).describe('the last 500, oldest first') });

const Url = z.string().min(1).max(8192).describe('http, https or about; internal addresses are rejected');
const Selector = z.string().min(1).max(2000).describe('a snapshot reference (e12, @e12 or ref=e12) or a CSS selector');
const Text = z.string().max(100_000);
const OneTab = z.strictObject({ tabId: z.string().min(1).max(128) });
const PAGE_DEADLINE_MS = 60_000;

const Act = z.strictObject({
  action: z.enum(['click', 'type', 'press', 'hover', 'drag', 'select', 'fill', 'scroll', 'wait', 'resize', 'evaluate', 'close']),
  selector: Selector.optional(),
  text: Text.optional().describe('text to type, key to press, text to wait for until it disappears, or function to evaluate'),
  secret: SecretName.optional().describe(
    'type: the name of a secret instead of text. Its value must be bound to the purpose browser and to the origin of the page',
  ),
  value: Text.optional().describe('the option to select or the value to fill'),
  values: z.array(Text).max(100).optional().describe('select: several options'),
  fields: z
    .array(z.strictObject({ ref: Selector, type: boundedString(MAX.name).optional(), value: z.union([Text, z.boolean()]) }))
    .max(100)
    .optional()
    .describe('fill: several fields at once'),
  endSelector: Selector.optional().describe('drag: target'),
  clear: z.boolean().optional().describe('type: replace the text instead of appending'),
  direction: z.enum(['up', 'down', 'left', 'right']).optional().describe('scroll'),
  amount: z.int().min(1).max(100_000).optional().describe('scroll: pixels; default: most of the viewport'),
  submit: z.boolean().optional().describe('type: press Enter afterwards'),
  slowly: z.boolean().optional().describe('type: one key at a time'),
  doubleClick: z.boolean().optional(),
  button: z.enum(['left', 'right', 'middle']).optional(),
  modifiers: z
    .array(z.enum(['Alt', 'Control', 'Meta', 'Shift']))
    .max(4)
    .optional(),
  delayMs: z.int().min(0).max(10_000).optional().describe('press: duration'),
  timeMs: z.int().min(0).max(30_000).optional().describe('wait: duration'),
  width: z.int().min(1).max(10_000).optional().describe('resize'),
  height: z.int().min(1).max(10_000).optional().describe('resize'),
});

const example = { url: 'https://example.com/', title: 'Example Domain', tabId: 'tab_1' };

export const browserMethods = defineMethods({
  'browser.status': {
    summary: 'Returns the state and location of the browser.',
    scope: 'rpc',
    params: NoParams,
    result: BrowserStatus,
    idempotent: true,
    reads: true,
    blobs: ['url'],
    examples: [
      { params: {}, result: { running: true, url: example.url, tabCount: 1, connected: true } },
      { params: {}, result: { running: false } },
    ],
  },
  'browser.start': {
    summary: 'Starts a headless browser if none is running.',
    scope: 'rpc',
    effect: 'mutate',
    params: NoParams,
    result: BrowserStarted,
    deadlineMs: PAGE_DEADLINE_MS,
    idempotent: true,
    errors: ['FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
    examples: [{ params: {}, result: { started: true } }],
  },
  'browser.stop': {
    summary: 'Stops the browser and closes all its tabs.',
    scope: 'rpc',
    effect: 'mutate',
    params: NoParams,
    result: BrowserStopped,
    idempotent: true,
    examples: [{ params: {}, result: { stopped: true } }],
  },
  'browser.navigate': {
    summary: 'Navigates the focused tab to an address.',
    description: 'Starts the browser if none is running. Redirects to internal addresses are rejected like the address itself.',
    scope: 'rpc',
    effect: 'mutate',
    params: z.strictObject({ url: Url }),
    result: Navigation,
    deadlineMs: PAGE_DEADLINE_MS,
    errors: ['INVALID_ARGUMENT', 'PERMISSION_DENIED', 'FAILED_PRECONDITION', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED', 'UNAVAILABLE'],
    examples: [{ params: { url: 'https://example.com' }, result: example }],
  },
  'browser.snapshot': {
    summary: 'Returns the page as text: roles, names and references for actions.',
    scope: 'rpc',
    params: z.strictObject({
      interactive: z.boolean().optional().describe('only interactive elements'),
      compact: z.boolean().optional().describe('without empty nodes'),
      maxDepth: z.int().min(1).max(100).optional(),
      selector: Selector.optional().describe('only this part of the page'),
      links: z.boolean().optional().describe('with the addresses of links'),
      maxChars: z.int().min(1).max(120_000).optional().describe('default: browser.snapshotMaxChars'),
    }),
    result: PageSnapshot,
    deadlineMs: PAGE_DEADLINE_MS,
    idempotent: true,
    reads: true,
    blobs: ['snapshot', 'refs'],
    errors: ['FAILED_PRECONDITION'],
    examples: [
      {
        params: {},
        result: {
          snapshot: '- heading "Example Domain" [level=1]\n- link "More information..." [ref=e1]',
          refs: { e1: { role: 'link', name: 'More information...' } },
          url: example.url,
          title: example.title,
          truncated: false,
          stats: { lines: 2, chars: 76, refs: 1, interactive: 1 },
        },
      },
    ],
  },
  'browser.screenshot': {
    summary: 'Takes a screenshot of the page.',
    scope: 'rpc',
    params: z.strictObject({
      fullPage: z.boolean().optional(),
      selector: Selector.optional().describe('only this element'),
      type: z.enum(['png', 'jpeg']).default('png'),
      quality: z.int().min(1).max(100).optional().describe('jpeg only; default 80'),
    }),
    result: Screenshot,
    deadlineMs: PAGE_DEADLINE_MS,
    idempotent: true,
    reads: true,
    blobs: ['data'],
    errors: ['FAILED_PRECONDITION'],
    examples: [{ params: { fullPage: true }, result: { data: 'iVBORw0KGgo=', mimeType: 'image/png', width: 1280, height: 720 } }],
  },
  'browser.pdf': {
    summary: 'Prints the page as a PDF.',
    scope: 'rpc',
    params: NoParams,
    result: PagePdf,
    deadlineMs: PAGE_DEADLINE_MS,
    idempotent: true,
    reads: true,
    blobs: ['data'],
    errors: ['FAILED_PRECONDITION'],
    examples: [{ params: {}, result: { data: 'JVBERi0xLjQK', mimeType: 'application/pdf' } }],
  },
  'browser.act': {
    summary: 'Performs one action on the page: click, type, select, scroll.',
    description: 'Problems on the page are part of the result: a missing, covered or ambiguous element.',
    scope: 'rpc',
    effect: 'mutate',
    params: Act,
    result: ActResult,
    deadlineMs: 70_000,
    blobs: ['fields', 'values', 'value', 'text', 'downloads', 'dialogs', 'openedTabs', 'url'],
    errors: ['INVALID_ARGUMENT', 'FAILED_PRECONDITION', 'PERMISSION_DENIED'],
    examples: [
      { params: { action: 'click', selector: 'e1' }, result: { ok: true, action: 'click' } },
      {
        params: { action: 'type', selector: '#name', text: 'Ada', submit: true },
        result: { ok: false, action: 'type', error: 'no element matches #name: take a new snapshot' },
      },
    ],
  },
  'browser.tabs': {
    summary: 'Lists the open tabs.',
    scope: 'rpc',
    params: NoParams,
    result: BrowserTabs,
    idempotent: true,
    reads: true,
    blobs: ['tabs'],
    errors: ['FAILED_PRECONDITION'],
    examples: [{ params: {}, result: { tabs: [{ id: example.tabId, url: example.url, title: example.title }] } }],
  },
  'browser.open': {
    summary: 'Opens a tab and focuses it.',
    description: 'Starts the browser if none is running.',
    scope: 'rpc',
    effect: 'mutate',
    params: z.strictObject({ url: Url.default('about:blank') }),
    result: TabOpened,
    deadlineMs: PAGE_DEADLINE_MS,
    errors: ['INVALID_ARGUMENT', 'PERMISSION_DENIED', 'FAILED_PRECONDITION', 'DEADLINE_EXCEEDED', 'RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
    examples: [{ params: { url: 'https://example.com' }, result: { tabId: 'tab_2' } }],
  },
  'browser.focus': {
    summary: 'Focuses a tab.',
    scope: 'rpc',
    effect: 'mutate',
    params: OneTab,
    result: TabFocused,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: { tabId: 'tab_2' }, result: { focused: true, tabId: 'tab_2' } }],
  },
  'browser.close': {
    summary: 'Closes a tab.',
    scope: 'rpc',
    effect: 'mutate',
    params: OneTab,
    result: TabClosed,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: { tabId: 'tab_2' }, result: { closed: true, tabId: 'tab_2' } }],
  },
  'browser.console': {
    summary: 'Returns the console output of the pages.',
    scope: 'rpc',
    params: z.strictObject({ level: z.string().min(1).max(16).optional().describe('only this level') }),
    result: ConsoleLog,
    idempotent: true,
    reads: true,
    blobs: ['entries'],
    errors: ['FAILED_PRECONDITION'],
    examples: [{ params: {}, result: { entries: [{ level: 'error', text: 'Failed to load resource', timestamp: 1763719200000 }] } }],
  },
});
