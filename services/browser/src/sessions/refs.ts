import { ServiceError } from '@switchyard/contracts';
import type { JSHandle, Locator, Page } from 'playwright-core';
import { parseStyledRef } from './styled-targets.ts';

const REF = /^(?:@|ref=)?(e\d{1,9})$/;
/** The driver's separator of chained selectors, which can enter frames and use other engines than CSS. */
const CHAIN = '>>';
/** The driver's names of engines (`text=`, `xpath=`, `internal:role=`) and its short forms of XPath (`//a`, `..`) and text (`"Sign in"`). */
const OTHER_ENGINE = /^\s*(?:[\w+:*-]+\s*=|\(*\s*\/\/|\.\.|["'])/;

const CSS_ONLY =
  'a selector is a reference of a snapshot or CSS, without engines such as text= or xpath=: take a snapshot and use a reference';
const NO_CHAINS = `a selector is a reference of a snapshot or CSS, and CSS has no "${CHAIN}": take a snapshot and use a reference. Within an attribute value, write \\3e for each ">"`;

export interface NewRefs {
  assign(driverRef: string): string;
  /** Replaces the references of the earlier snapshot. */
  commit(): void;
}

export interface Refs {
  /** Begins the references of a new snapshot. An element of the same document keeps its reference. */
  begin(page: Page): Promise<NewRefs>;
  /**
   * Returns the driver's locator of a reference or a CSS selector. Throws NOT_FOUND for a reference that is not of the current document, and
   * an error that says what to write for selectors of another kind.
   */
  locate(page: Page, selector: string): Promise<Locator>;
  /** Whether the selector is a reference. */
  isRef(selector: string): boolean;
}

/**
 * References of one tab. The driver numbers the elements of each document from 1, so our numbers are never used again within a session:
 * a reference is one element of one document.
 */
export function createRefs(nextNumber: () => number): Refs {
  let current = new Map<string, string>();
  let byDriverRef = new Map<string, string>();
  let document: JSHandle | undefined;
  let childNavigations = 0;
  let childNavigationsAtSnapshot = 0;
  let watched: Page | undefined;

  function watch(page: Page): void {
    if (watched === page) return;
    watched = page;
    page.on('framenavigated', (frame) => {
      if (frame !== page.mainFrame()) childNavigations++;
    });
  }

  async function isSameDocument(page: Page): Promise<boolean> {
    if (document === undefined) return false;
    // The handle belongs to the script context of its document and fails after a navigation.
    return page
      .mainFrame()
      .evaluate((known) => known === (globalThis as unknown as { document: unknown }).document, document)
      .catch(() => false);
  }

  return {
    async begin(page) {
      watch(page);
      const isSame = (await isSameDocument(page)) && childNavigations === childNavigationsAtSnapshot;
      const earlier = isSame ? byDriverRef : new Map<string, string>();
      if (!isSame) {
        const left = document;
        document = await page.mainFrame().evaluateHandle('document');
        void left?.dispose().catch(() => undefined);
      }
      childNavigationsAtSnapshot = childNavigations;
      const refs = new Map<string, string>();
      const numbers = new Map<string, string>();
      return {
        assign(driverRef) {
          const ref = earlier.get(driverRef) ?? `e${nextNumber()}`;
          refs.set(ref, driverRef);
          numbers.set(driverRef, ref);
          return ref;
        },
        commit() {
          current = refs;
          byDriverRef = numbers;
        },
      };
    },

    async locate(page, selector) {
      const ref = REF.exec(selector)?.[1];
      if (ref === undefined) {
        if (selector.includes(CHAIN)) throw new Error(NO_CHAINS);
        if (OTHER_ENGINE.test(selector)) throw new Error(CSS_ONLY);
        return page.locator(`css=${selector}`);
      }
      const driverRef = current.get(ref);
      const isStale =
        driverRef === undefined ||
        (driverRef.startsWith('f') && childNavigations !== childNavigationsAtSnapshot) ||
        !(await isSameDocument(page));
      if (isStale) throw staleRef(ref);
      const styled = parseStyledRef(page, driverRef);
      return styled ? styled.frame.locator(styled.selector) : page.locator(`aria-ref=${driverRef}`);
    },

    isRef: (selector) => REF.test(selector),
  };
}

export function staleRef(ref: string): ServiceError {
  return new ServiceError('NOT_FOUND', `${ref} is no element of the last snapshot of this tab: take a new snapshot`);
}
