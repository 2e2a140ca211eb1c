import type { Locator, Page } from 'playwright-core';
import { ActionFailed, ACTION_TIMEOUT_MS } from './action-failed.ts';

const OPTIONS_TIMEOUT_MS = 2_000;

interface FieldElement {
  tagName: string;
  type?: string;
  getAttribute(name: string): string | null;
}

/** Fills a field in the way of its kind. Dates, times, colours and ranges take their value in the form of HTML. */
export async function fillField(target: Locator, value: string | boolean): Promise<void> {
  const timeout = ACTION_TIMEOUT_MS;
  const { tag, type, role } = await describeField(target);
  const isToggle = type === 'checkbox' || type === 'radio' || role === 'checkbox' || role === 'radio' || role === 'switch';
  if (typeof value === 'boolean' || (isToggle && /^(?:true|false)$/.test(value)))
    await target.setChecked(String(value) === 'true', { timeout });
  else if (tag === 'SELECT' || role === 'listbox') await selectOptions(target, [value]);
  else await target.fill(value, { timeout });
}

/** Selects options of a native list, or of a list that is made with ARIA roles, by their values or texts. */
export async function selectOptions(target: Locator, values: readonly string[]): Promise<void> {
  const { tag, role } = await describeField(target);
  if (tag === 'SELECT') {
    await target.selectOption([...values], { timeout: ACTION_TIMEOUT_MS });
    return;
  }
  if (role === 'listbox') {
    for (const value of values) await clickOption(target, value);
    return;
  }
  const popup = await openPopup(target, role);
  for (const value of values) await clickOption(popup, value);
}

async function describeField(target: Locator): Promise<{ tag: string; type: string; role: string }> {
  return target.evaluate(
    (element) => {
      const { tagName, type = '' } = element as unknown as FieldElement;
      return { tag: tagName, type, role: (element as unknown as FieldElement).getAttribute('role') ?? '' };
    },
    undefined,
    { timeout: ACTION_TIMEOUT_MS },
  );
}

/** Opens the list of a combobox or button. Lists that are outside of the element are found by `aria-controls`, or by being visible. */
async function openPopup(target: Locator, role: string): Promise<Locator | Page> {
  const [isExpanded, controls] = await Promise.all([
    target.getAttribute('aria-expanded', { timeout: ACTION_TIMEOUT_MS }),
    target.getAttribute('aria-controls', { timeout: ACTION_TIMEOUT_MS }),
  ]);
  if (role !== 'combobox' && controls === null && (await target.getAttribute('aria-haspopup')) === null) {
    throw new ActionFailed('the element is no list: click it and take a new snapshot');
  }
  if (isExpanded !== 'true') await target.click({ timeout: ACTION_TIMEOUT_MS });
  return controls === null ? target.page() : target.page().locator(`[id=${JSON.stringify(controls.split(' ', 1)[0])}]`);
}

async function clickOption(list: Locator | Page, value: string): Promise<void> {
  const named = list.getByRole('option', { name: value, exact: true });
  const option = named
    .or(list.locator(`[role=option][data-value=${JSON.stringify(value)}]`))
    .filter({ visible: true })
    .first();
  try {
    await option.waitFor({ state: 'visible', timeout: OPTIONS_TIMEOUT_MS });
  } catch {
    throw new ActionFailed(`the list has no option ${JSON.stringify(value.slice(0, 100))}: take a new snapshot`);
  }
  await option.click({ timeout: ACTION_TIMEOUT_MS });
}
