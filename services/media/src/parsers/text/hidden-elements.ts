import type { HtmlDocument, HtmlElement } from './html-document.ts';

const SELECTORS = '[hidden], [style], input[type="hidden"], dialog:not([open]), noscript, template, script, style';
/** Declarations of an element that no reader sees. */
const INVISIBLE =
  /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0?(?:\.0+)?(?:\s*!important)?\s*(?:;|$)|font-size\s*:\s*0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:!important)?\s*(?:;|$)|(?:left|top|text-indent)\s*:\s*-\d{4,}|clip(?:-path)?\s*:\s*(?:rect\(\s*0(?:px)?[\s,]+0|inset\(\s*(?:50|100)%))/i;

/** Finds elements that a reader of the page does not see, so that they cannot instruct a model that the reader trusts. */
export function findHidden(document: HtmlDocument): HtmlElement[] {
  return [...document.querySelectorAll(SELECTORS)].filter((element) => {
    const style = element.getAttribute('style');
    const hasOther = /^(?:INPUT|DIALOG|NOSCRIPT|TEMPLATE|SCRIPT|STYLE)$/i.test(element.nodeName);
    if (hasOther || element.getAttribute('hidden') !== null) return true;
    return style !== null && (INVISIBLE.test(style) || hasSameColours(style));
  });
}

/** Text in the colour of its background. */
function hasSameColours(style: string): boolean {
  const colour = /(?:^|;)\s*color\s*:\s*([^;!]+)/i.exec(style)?.[1]?.trim().toLowerCase();
  const background = /(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]+)/i.exec(style)?.[1]?.trim().toLowerCase();
  return colour !== undefined && (colour === background || colour === 'transparent');
}
