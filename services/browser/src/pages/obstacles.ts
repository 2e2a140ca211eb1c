import type { Locator } from 'playwright-core';
import { describeFailure, isClosed, isTimeout, PageUnresponsive } from '../sessions/deadline.ts';

const ANSWER_TIMEOUT_MS = 2_000;

type Needs = 'visible' | 'enabled' | 'pointer';

/** The properties of an element that the inspection reads. Services are compiled without the types of the DOM. */
interface PageElement {
  readonly tagName: string;
  readonly id: string;
  readonly innerText?: string;
  readonly shadowRoot: unknown;
  readonly control?: PageElement | null;
  scrollIntoViewIfNeeded?(center: boolean): void;
  getBoundingClientRect(): { left: number; top: number; width: number; height: number };
  getRootNode(): { elementFromPoint(x: number, y: number): PageElement | null };
  getAttribute(name: string): string | null;
  matches(selector: string): boolean;
  closest(selector: string): PageElement | null;
  contains(other: PageElement): boolean;
}

/** Runs in the page. Returns why the element cannot be used; an empty text if it can. */
function inspect(element: PageElement, needs: Needs): string {
  element.scrollIntoViewIfNeeded?.(true);
  const box = element.getBoundingClientRect();
  const { getComputedStyle } = globalThis as unknown as { getComputedStyle: (of: PageElement) => { visibility: string } };
  if (box.width === 0 || box.height === 0 || getComputedStyle(element).visibility !== 'visible') return 'hidden';
  if (needs === 'visible') return '';
  if (element.matches(':disabled') || element.closest('[aria-disabled="true"]')) return 'disabled';
  if (needs === 'enabled') return '';
  const top = element.getRootNode().elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
  if (!top || top === element || element.contains(top) || top.contains(element) || top.shadowRoot) return '';
  if (top.closest('label')?.control === element) return '';
  const name = (top.getAttribute('aria-label') ?? top.innerText ?? '').trim().replaceAll(/\s+/g, ' ').slice(0, 60);
  const id = top.id === '' ? '' : ` id="${top.id.slice(0, 60)}"`;
  return `covered by <${top.tagName.toLowerCase()}${id}>${name === '' ? '' : ` "${name}"`}`;
}

/** Explains at once why an action on this element would fail: no or several matches, hidden, disabled, covered. */
export async function explainObstacle(locator: Locator, selector: string, needs: Needs): Promise<string | undefined> {
  try {
    const count = await locator.count();
    if (count === 0) return `no element matches ${selector}: take a new snapshot`;
    if (count > 1) return `${count} elements match ${selector}: use a reference of a snapshot`;
    const problem = await locator.evaluate(inspect as unknown as (element: unknown, needs: Needs) => string, needs, {
      timeout: ANSWER_TIMEOUT_MS,
    });
    return problem === '' ? undefined : `${selector} is ${problem}: take a new snapshot`;
  } catch (error) {
    if (isTimeout(error)) throw new PageUnresponsive();
    if (isClosed(error)) throw error;
    return `${selector} cannot be used: ${describeFailure(error)}`;
  }
}
