import type { JSHandle, Page } from 'playwright-core';
import { withDeadline } from '../sessions/deadline.ts';

const ANSWER_TIMEOUT_MS = 1_000;
const MAX_MARKS = 2_000;
/** The role of marked elements. It has no name of its own, so that a marked element changes no other part of the snapshot. */
const MARK_ROLE = 'mark';
/** Elements without a role of their own. */
const GENERIC_TAGS = 'div,span,b,i,u,small,big,font,tt,label,abbr,bdi,bdo,cite,kbd,samp,var,center';

/** The properties of an element that the search reads. Services are compiled without the types of the DOM. */
interface PageElement {
  readonly tagName: string;
  readonly textContent: string;
  readonly parentElement: PageElement | null;
  readonly shadowRoot: PageRoot | null;
  hasAttribute(name: string): boolean;
  setAttribute(name: string, value: string): void;
  removeAttribute(name: string): void;
  matches(selector: string): boolean;
  querySelector(selector: string): PageElement | null;
}

interface PageRoot {
  querySelectorAll(selector: string): Iterable<PageElement>;
}

interface PageGlobals {
  document: PageRoot;
  getComputedStyle: (element: PageElement) => { cursor: string };
}

/** Runs in the page. Gives a role to each text without one at which a pointer begins to show. Returns the marked elements. */
function markElements({ role, tags, limit }: { role: string; tags: string; limit: number }): PageElement[] {
  const { document, getComputedStyle } = globalThis as unknown as PageGlobals;
  const marked: PageElement[] = [];
  const roots: PageRoot[] = [document];
  for (const root of roots) {
    for (const element of root.querySelectorAll('*')) {
      if (element.shadowRoot) roots.push(element.shadowRoot);
      if (element.hasAttribute('role') || !(element.matches(tags) || element.tagName.includes('-'))) continue;
      if (getComputedStyle(element).cursor !== 'pointer') continue;
      // The cursor is inherited, and the target is the element at which it begins.
      const parent = element.parentElement;
      if (parent && getComputedStyle(parent).cursor === 'pointer') continue;
      if (element.textContent.trim() === '' || element.querySelector(`:not(${tags})`)) continue;
      if (marked.length >= limit) return marked;
      element.setAttribute('role', role);
      marked.push(element);
    }
  }
  return marked;
}

/**
 * Lets the snapshot of the driver show texts that are clickable by style alone. The driver merges a text without a role into the element
 * around it, so such a text has a role until the returned function is called.
 */
export async function markStyledTargets(page: Page): Promise<() => void> {
  const options = { role: MARK_ROLE, tags: GENERIC_TAGS, limit: MAX_MARKS };
  const marked = page.frames().map((frame) => frame.evaluateHandle(markElements, options));
  // A frame that does not answer is left to the snapshot itself.
  await Promise.all(marked.map((marks) => withDeadline(marks, ANSWER_TIMEOUT_MS).catch(() => undefined)));
  return () => {
    for (const marks of marked) void marks.then(removeMarks).catch(() => undefined);
  };
}

async function removeMarks(marks: JSHandle<PageElement[]>): Promise<void> {
  await marks.evaluate((elements) => {
    for (const element of elements) element.removeAttribute('role');
  });
  await marks.dispose();
}

/** Returns the role as it is shown: a text that is clickable by style alone has none. */
export function getShownRole({ role, cursor }: { role: string; cursor?: string }): string {
  return role === MARK_ROLE && cursor === 'pointer' ? 'generic' : role;
}
