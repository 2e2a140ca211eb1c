export interface TruncateOutputOptions {
  maxChars: number;
  runId: string;
  nodeId: string;
  /** Adds the reference also to an output that is not too long. */
  always?: boolean;
}

/** Returns the output up to a number of characters, followed by a reference to all of it. */
export function truncateOutput(text: string, { maxChars, runId, nodeId, always = false }: TruncateOutputOptions): string {
  if (text.length <= maxChars && !always) return text;
  const shown = text.slice(0, maxChars);
  const reference = `[${shown.length} of ${text.length} characters. The tool graph_output reads all: runId ${runId}, nodeId ${nodeId}]`;
  return shown === '' ? reference : `${shown}\n${reference}`;
}

/** Separates the braces of placeholders in a text that is inserted into a task. */
export function neutralize(text: string): string {
  return text.replaceAll('{{', '{ {').replaceAll('}}', '} }').replaceAll('${', '$ {');
}
