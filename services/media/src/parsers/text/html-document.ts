import type { XmlNode } from './xml.ts';

export interface HtmlDocument {
  body: HtmlElement;
  documentElement: HtmlElement;
  querySelectorAll(selector: string): Iterable<HtmlElement>;
}

export interface HtmlElement extends XmlNode {
  remove(): void;
  getAttribute(name: string): string | null;
  querySelectorAll(selector: string): Iterable<HtmlElement>;
}
