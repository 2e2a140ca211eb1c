import type { Params } from '@switchyard/contracts';
import type { Locator } from 'playwright-core';
import { ActionFailed, ACTION_TIMEOUT_MS } from './action-failed.ts';

const SLOW_KEY_DELAY_MS = 75;
const TYPING_TIMEOUT_MS = 60_000;
/** A shorter value cannot be masked in the texts of pages. */
const MIN_SECRET_CHARS = 4;

/** Types text at the end of a field, or in place of its content. */
export async function typeText(target: Locator, { text = '', clear, slowly, submit }: Params<'browser.act'>): Promise<void> {
  const timeout = ACTION_TIMEOUT_MS;
  if (clear === true) await target.fill('', { timeout });
  await target.focus({ timeout });
  await target.press('Control+End', { timeout });
  await target.pressSequentially(text, {
    timeout: ACTION_TIMEOUT_MS + TYPING_TIMEOUT_MS,
    ...(slowly === true && { delay: SLOW_KEY_DELAY_MS }),
  });
  if (submit === true) await target.press('Enter', { timeout, noWaitAfter: true });
}

export interface SecretTyping {
  name: string;
  submit: boolean;
  /** Returns the value if it may be typed into a page of this origin; null if it is not set. */
  resolve: (name: string, origin: string) => Promise<string | null>;
  /** Called with the value before the page receives it. */
  onValue: (value: string) => void;
}

/**
 * Replaces the content of a field by a secret. The value goes to the element whose document was checked, so that a page which navigates
 * meanwhile does not receive it.
 */
export async function typeSecret(target: Locator, { name, submit, resolve, onValue }: SecretTyping): Promise<void> {
  const element = await target.elementHandle({ timeout: ACTION_TIMEOUT_MS });
  try {
    const frame = await element?.ownerFrame();
    if (!element || !frame) throw new ActionFailed('the element is gone: take a new snapshot');
    const { origin } = new URL(frame.url());
    if (origin === 'null') throw new ActionFailed('the document has no origin, so that no secret is typed into it');
    const value = await resolve(name, origin);
    if (value === null) throw new ActionFailed(`the secret ${name} is not set`);
    if (value.length < MIN_SECRET_CHARS) throw new ActionFailed(`the secret ${name} has fewer than ${MIN_SECRET_CHARS} characters`);
    onValue(value);
    await element.fill(value, { timeout: ACTION_TIMEOUT_MS });
    if (submit) await element.press('Enter', { timeout: ACTION_TIMEOUT_MS, noWaitAfter: true });
  } finally {
    await element?.dispose();
  }
}
