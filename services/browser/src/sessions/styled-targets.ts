import type { ElementHandle, Frame, Page, Selectors } from 'playwright-core';
import { withDeadline } from './deadline.ts';

/** Time that the frame of a page or of a root has after the snapshot has arrived. A frame that does not answer has no such targets. */
const ANSWER_TIMEOUT_MS = 2_000;
/** Child frames that never answer are common, and must not delay each snapshot for long. */
const CHILD_ANSWER_TIMEOUT_MS = 1_000;
/** Name of the selector engine. Callers cannot use it, because their selectors are references or CSS. */
const ENGINE = 'switchyard-styled';

/** A text that is clickable although its element has no role that says so. */
export interface StyledTarget {
  /** Reference of the driver's kind. It begins with `f` for an element of a child frame. */
  ref: string;
  text: string;
  /** Text before it in the same element. */
  before: string;
  isInChildFrame: boolean;
}

/** The properties of an element that the search reads. Services are compiled without the types of the DOM. */
interface PageNode {
  readonly nodeType: number;
  readonly textContent: string;
  readonly previousSibling: PageNode | null;
  readonly parentNode: PageNode | null;
  readonly host?: PageNode;
}

interface PageElement extends PageNode {
  readonly tagName: string;
  readonly parentElement: PageElement | null;
  readonly shadowRoot: PageRoot | null;
  readonly tabIndex: number;
  readonly onclick: unknown;
  readonly isConnected: boolean;
  hasAttribute(name: string): boolean;
  matches(selector: string): boolean;
  closest(selector: string): PageElement | null;
  querySelector(selector: string): PageElement | null;
  getClientRects(): ArrayLike<unknown>;
}

interface PageRoot {
  querySelectorAll(selector: string): Iterable<PageElement>;
}

interface Engine {
  queryAll(root: unknown, selector: string): PageElement[];
}

/**
 * Runs in each document as a selector engine. It numbers the elements that it finds, so that `n` selects one element of one document for as
 * long as the document exists, and `all` selects the found elements in the order of their numbers. It changes nothing in the page.
 */
function createEngine(): Engine {
  const LIMIT = 2_000;
  const MAX_CHARS = 256;
  const ROLES = 'a[href],button,input,select,textarea,option,label,summary,[role],[contenteditable]';
  /** Elements without a role of their own, besides those that pages define. */
  const GENERIC_TAGS = 'div,section,span,b,i,u,small,big,font,tt,abbr,bdi,bdo,cite,kbd,samp,var,center';
  const { document, getComputedStyle } = globalThis as unknown as {
    document: PageRoot;
    getComputedStyle: (element: PageElement) => { cursor: string; display: string; visibility: string };
  };
  const found: PageElement[] = [];
  const numbers = new Map<PageElement, number>();

  /** The driver may merge such an element into the text around it. It shows the others with their cursor. */
  function isTextOnly(element: PageElement): boolean {
    return (element.matches(GENERIC_TAGS) || element.tagName.includes('-')) && !element.querySelector(`:not(${GENERIC_TAGS})`);
  }

  function isTarget(element: PageElement): boolean {
    if (/^(?:body|html|script|style|img|svg|iframe)$/i.test(element.tagName)) return false;
    const isHandler = typeof element.onclick === 'function' || element.hasAttribute('onclick');
    const isFocusable = element.tabIndex >= 0 && element.hasAttribute('tabindex');
    if (!isHandler && !isFocusable && !isTextOnly(element)) return false;
    const chars = element.textContent.trim().length;
    if (chars === 0 || chars > MAX_CHARS || element.closest(ROLES)) return false;
    const { cursor, visibility } = getComputedStyle(element);
    if (visibility !== 'visible' || element.getClientRects().length === 0) return false;
    if (cursor !== 'pointer') return isHandler || isFocusable;
    // The cursor is inherited, and the target is the element at which it begins.
    return isTextOnly(element) && (!element.parentElement || getComputedStyle(element.parentElement).cursor !== 'pointer');
  }

  function search(): void {
    const roots: PageRoot[] = [document];
    for (const root of roots) {
      for (const element of root.querySelectorAll('*')) {
        if (element.shadowRoot) roots.push(element.shadowRoot);
        if (numbers.has(element) || found.length >= LIMIT || !isTarget(element)) continue;
        numbers.set(element, found.length);
        found.push(element);
      }
    }
  }

  return {
    queryAll(_root, selector) {
      if (selector === 'all') search();
      else return found.slice(Number(selector), Number(selector) + 1).filter((element) => element.isConnected);
      return found;
    },
  };
}

/** Runs in the page. Returns the texts of the visible elements by number, in the order of the document. */
function describeElements(elements: PageElement[], root: PageNode | null): { number: number; text: string; before: string }[] {
  const BEFORE_CHARS = 40;
  const isWithin = (element: PageElement): boolean => {
    if (!root) return true;
    for (let at: PageNode | null = element; at; at = at.parentNode ?? at.host ?? null) if (at === root) return true;
    return false;
  };
  const described = elements.flatMap((element, number) => {
    if (!element.isConnected || element.getClientRects().length === 0 || element.textContent.length > 4_096 || !isWithin(element))
      return [];
    let before = '';
    for (let at = element.previousSibling; at && before.length < BEFORE_CHARS; at = at.previousSibling) before = at.textContent + before;
    return [{ number, element, text: element.textContent, before: before.slice(-BEFORE_CHARS) }];
  });
  const FOLLOWING = 4; // Node.DOCUMENT_POSITION_FOLLOWING
  described.sort((a, b) => {
    const { compareDocumentPosition } = a.element as unknown as { compareDocumentPosition: (other: PageElement) => number };
    return (compareDocumentPosition.call(a.element, b.element) & FOLLOWING) === 0 ? 1 : -1;
  });
  return described.map(({ number, text, before }) => ({ number, text, before }));
}

let registered: Promise<void> | undefined;

/** Makes the selector engine known to the driver, once in each process and before the first context exists. */
export function registerStyledTargets(selectors: Selectors): Promise<void> {
  return (registered ??= selectors.register(ENGINE, createEngine));
}

/** Finds the frames of references again. The numbers of frames are ours, and never used again. */
const frames = new WeakMap<Page, Map<string, Frame>>();

function getFrameKey(page: Page, frame: Frame): string {
  const known = frames.get(page) ?? new Map<string, Frame>();
  frames.set(page, known);
  for (const [key, other] of known) if (other === frame) return key;
  const key = String(known.size);
  known.set(key, frame);
  return key;
}

/** Returns what selects the element of a reference: the frame, and a selector of the driver. Undefined for a reference of the driver. */
export function parseStyledRef(page: Page, ref: string): { frame: Frame; selector: string } | undefined {
  const [, key = '', number] = /^f?styled(\d+):(\d+)$/.exec(ref) ?? [];
  const frame = frames.get(page)?.get(key);
  return number === undefined || !frame ? undefined : { frame, selector: `${ENGINE}=${number}` };
}

export interface StyledTargetSearch {
  /** Resolves after the snapshot has arrived, and at most a short time later. */
  collect(): Promise<StyledTarget[]>;
}

/** Begins the search in all frames, or in one element. */
export function findStyledTargets(page: Page, root?: { element: ElementHandle; frame: Frame }): StyledTargetSearch {
  const searched = root ? [root.frame] : page.frames(); // the main frame is the first one
  const searches = searched.map(async (frame) => {
    const describe = describeElements as unknown as (elements: unknown[], within: unknown) => ReturnType<typeof describeElements>;
    const described = await frame.locator(`${ENGINE}=all`).evaluateAll(describe, root?.element ?? null);
    const isInChildFrame = frame !== page.mainFrame();
    const prefix = `${isInChildFrame ? 'f' : ''}styled${getFrameKey(page, frame)}:`;
    return described.map(({ number, text, before }) => ({ ref: `${prefix}${number}`, text, before, isInChildFrame }));
  });
  for (const search of searches) search.catch(() => undefined);
  return {
    async collect() {
      const results = await Promise.all(
        searches.map((search, at) => withDeadline(search, at === 0 ? ANSWER_TIMEOUT_MS : CHILD_ANSWER_TIMEOUT_MS).catch(() => [])),
      );
      return results.flat();
    },
  };
}
