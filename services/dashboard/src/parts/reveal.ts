/** A reference for an element that is scrolled into view when it appears, because it is what was selected. */
export function reveal(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: 'start' });
}
