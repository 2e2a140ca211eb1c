/** Options of the text that a model reads. */
export interface RenderOptions {
  /** Arguments of the caller, as one text. */
  args: string;
  /** Characters of the text; a longer one is cut and says so. */
  maxChars: number;
}

/** Returns the instructions of a skill for a model. */
export function renderInstructions(body: string, { args, maxChars }: RenderOptions): string {
  const text = args === '' ? body : `${body}\n\nArguments: ${args}`;
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}\n[The skill is longer than ${maxChars} characters and was cut.]`;
}
