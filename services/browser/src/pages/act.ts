import { ServiceError, type Params, type Result } from '@switchyard/contracts';
import type { Locator } from 'playwright-core';
import type { BrowserSession } from '../sessions/browser-session.ts';
import type { Tab } from '../sessions/tab.ts';
import { describeFailure, isClosed, isTimeout, PageUnresponsive, withDeadline } from '../sessions/deadline.ts';
import { ActionFailed, ACTION_TIMEOUT_MS } from './action-failed.ts';
import { fillField, selectOptions } from './fields.ts';
import { explainObstacle } from './obstacles.ts';
import { typeSecret, typeText } from './type-text.ts';

export type ActParams = Params<'browser.act'>;

const QUIET_TIMEOUT_MS = 1_000;
const MAX_VALUE_CHARS = 100_000;
/** Pages that sort lists follow the pointer on its way, and miss one that jumps. */
const DRAG_STEPS = 10;

export interface ActOptions {
  session: BrowserSession;
  evaluateEnabled: boolean;
  /** Returns a secret that the caller may type into pages of this origin; null if it is not set. */
  resolveSecret: (name: string, origin: string) => Promise<string | null>;
}

/** Performs one action and reports what came of it. Problems on the page are `ok: false` with the next step. */
export async function performAction(tab: Tab, params: ActParams, options: ActOptions): Promise<Result<'browser.act'>> {
  checkParams(params);
  const { action } = params;
  const { session } = options;
  const urlBefore = tab.page.url();
  const listIds = (): string[] => [...session.listTabs().map(({ id }) => id), ...session.listPending()];
  const tabsBefore = new Set(listIds());
  const describeOutcome = (): Partial<Result<'browser.act'>> => {
    const openedTabs = listIds().filter((id) => !tabsBefore.has(id));
    return { ...(openedTabs.length > 0 && { openedTabs }), ...describeHappenings(tab) };
  };
  try {
    const value = await withDeadline(dispatch(tab, params, options), getTimeout(params));
    if (action !== 'close') await waitUntilQuiet(tab);
    const url = tab.page.url();
    if (session.listPending().some((id) => !tabsBefore.has(id))) await session.waitForPending(QUIET_TIMEOUT_MS);
    return {
      ok: true,
      action,
      ...(url !== urlBefore && action !== 'close' && { url: url.slice(0, 8_192) }),
      ...describeOutcome(),
      ...(value !== undefined && { value }),
    };
  } catch (error) {
    if (isClosed(error) && action !== 'close') {
      return { ok: false, action, error: 'the tab closed during the action: see browser.tabs', ...describeOutcome() };
    }
    if (error instanceof PageUnresponsive) {
      await session.discard(tab);
      return {
        ok: false,
        action,
        error: `the page did not respond, so the tab ${tab.id} was closed: navigate again`,
        ...describeOutcome(),
      };
    }
    if (error instanceof ServiceError && error.code !== 'NOT_FOUND') throw error;
    return { ok: false, action, error: explain(error), ...describeOutcome() };
  }
}

function explain(error: unknown): string {
  if (isTimeout(error)) return 'the element did not become ready for the action in time: take a new snapshot';
  return describeFailure(error);
}

function getTimeout({ action, timeMs = 0, delayMs = 0 }: ActParams): number {
  return ACTION_TIMEOUT_MS + 2_000 + (action === 'wait' ? Math.max(timeMs, 0) : delayMs);
}

function describeHappenings({ happenings: { dialogs, downloads } }: Tab): Partial<Result<'browser.act'>> {
  return { ...(dialogs.length > 0 && { dialogs: [...dialogs] }), ...(downloads.length > 0 && { downloads: [...downloads] }) };
}

const REQUIRED: Partial<Record<ActParams['action'], readonly (keyof ActParams)[]>> = {
  click: ['selector'],
  type: ['selector'],
  press: ['text'],
  hover: ['selector'],
  drag: ['selector', 'endSelector'],
  select: ['selector'],
  evaluate: ['text'],
  resize: ['width', 'height'],
};

function checkParams(params: ActParams): void {
  const { action } = params;
  const missing = REQUIRED[action]?.find((name) => params[name] === undefined);
  const expected =
    missing ??
    (action === 'type' && (params.text === undefined) === (params.secret === undefined) ? 'either text or secret' : undefined) ??
    (action === 'select' && params.value === undefined && params.values === undefined ? 'value or values' : undefined) ??
    (action === 'fill' && params.fields === undefined && (params.selector === undefined || params.value === undefined)
      ? 'fields, or selector and value'
      : undefined) ??
    (action === 'wait' && params.timeMs === undefined && params.text === undefined ? 'timeMs or text' : undefined);
  if (expected !== undefined) throw new ServiceError('INVALID_ARGUMENT', `The action ${action} needs ${expected}.`);
}

async function dispatch(tab: Tab, params: ActParams, { session, evaluateEnabled, resolveSecret }: ActOptions): Promise<string | undefined> {
  const { page } = tab;
  const { action, selector = '', text = '', timeMs, delayMs } = params;
  const timeout = ACTION_TIMEOUT_MS;
  switch (action) {
    case 'click': {
      const target = await locate(tab, selector, 'pointer');
      const { button, modifiers, doubleClick } = params;
      const how = { timeout, noWaitAfter: true, ...(button && { button }), ...(modifiers && { modifiers }) };
      await (doubleClick === true ? target.dblclick(how) : target.click(how));
      return undefined;
    }
    case 'hover':
      await (await locate(tab, selector, 'pointer')).hover({ timeout });
      return undefined;
    case 'type':
      await typeInto(await locate(tab, selector, 'enabled'), params, { session, resolveSecret });
      return undefined;
    case 'press':
      if (selector === '') await page.keyboard.press(text, delayMs === undefined ? {} : { delay: delayMs });
      else
        await (
          await locate(tab, selector, 'visible')
        ).press(text, { timeout: timeout + (delayMs ?? 0), ...(delayMs !== undefined && { delay: delayMs }) });
      return undefined;
    case 'drag':
      await (
        await locate(tab, selector, 'visible')
      ).dragTo(await locate(tab, params.endSelector ?? '', 'visible'), {
        timeout,
        steps: DRAG_STEPS,
      });
      return undefined;
    case 'select':
      await selectOptions(await locate(tab, selector, 'enabled'), params.values ?? [params.value ?? '']);
      return undefined;
    case 'fill':
      for (const field of params.fields ?? [{ ref: selector, value: params.value ?? '' }])
        await fillField(await locate(tab, field.ref, 'enabled'), field.value);
      return undefined;
    case 'scroll':
      await scroll(tab, params);
      return undefined;
    case 'wait':
      if (text !== '')
        await page
          .getByText(text)
          .first()
          .waitFor({ state: 'hidden', timeout: timeMs ?? timeout });
      else await page.waitForTimeout(timeMs ?? 0);
      return undefined;
    case 'resize':
      await page.setViewportSize({ width: params.width ?? 1, height: params.height ?? 1 });
      return undefined;
    case 'evaluate': {
      if (!evaluateEnabled) throw new ActionFailed('evaluate is off: the operator can turn it on with browser.evaluateEnabled');
      const value: unknown = await page.evaluate(text);
      return (JSON.stringify(value) ?? 'undefined').slice(0, MAX_VALUE_CHARS);
    }
    case 'close':
      await session.close(tab.id);
      return undefined;
    default:
      return action satisfies never;
  }
}

/** Returns the one element that the selector names. Otherwise fails at once with the reason and the next step. */
async function locate(tab: Tab, selector: string, needs: 'visible' | 'enabled' | 'pointer'): Promise<Locator> {
  const locator = await tab.refs.locate(tab.page, selector);
  const obstacle = await explainObstacle(locator, selector, needs);
  if (obstacle !== undefined) throw new ActionFailed(obstacle);
  return locator;
}

async function typeInto(
  target: Locator,
  params: ActParams,
  { session, resolveSecret }: Omit<ActOptions, 'evaluateEnabled'>,
): Promise<void> {
  const { secret, submit = false } = params;
  if (secret === undefined) return typeText(target, params);
  const onValue = (value: string): void => session.secrets.add(secret, value);
  return typeSecret(target, { name: secret, submit, resolve: resolveSecret, onValue });
}

async function scroll(tab: Tab, { selector, direction = 'down', amount }: ActParams): Promise<void> {
  const { page } = tab;
  if (selector !== undefined && amount === undefined) {
    await (await locate(tab, selector, 'visible')).scrollIntoViewIfNeeded({ timeout: ACTION_TIMEOUT_MS });
    return;
  }
  if (selector !== undefined) await (await locate(tab, selector, 'visible')).hover({ timeout: ACTION_TIMEOUT_MS });
  const { width, height } = page.viewportSize() ?? { width: 1_280, height: 720 };
  const isVertical = direction === 'up' || direction === 'down';
  const pixels = (amount ?? Math.round((isVertical ? height : width) * 0.8)) * (direction === 'up' || direction === 'left' ? -1 : 1);
  await page.mouse.wheel(isVertical ? 0 : pixels, isVertical ? pixels : 0);
}

/** Waits until a navigation that the action began has a document, for at most a second. */
async function waitUntilQuiet(tab: Tab): Promise<void> {
  const { page } = tab;
  if (page.isClosed()) return;
  const settled = page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))').catch(() => undefined);
  await withDeadline(settled, QUIET_TIMEOUT_MS).catch(() => undefined);
  if (tab.navigating) {
    const answered = { predicate: (frame: unknown) => frame === page.mainFrame(), timeout: QUIET_TIMEOUT_MS };
    await page.waitForEvent('framenavigated', answered).catch(() => undefined);
  }
  if (!page.isClosed()) await page.waitForLoadState('domcontentloaded', { timeout: QUIET_TIMEOUT_MS }).catch(() => undefined);
}
