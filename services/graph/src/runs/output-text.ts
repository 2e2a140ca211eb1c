/** An output, or its beginning. */
export interface OutputText {
  text: string;
  /** Characters of the complete output. */
  totalChars: number;
  /** The rest of the output was requested, but its file no longer exists. */
  isMissing: boolean;
}

export interface TruncateOutputOptions {
  maxChars: number;
  runId: string;
  nodeId: string;
  /** Adds the reference also to an output that is not too long. */
  always?: boolean;
}

/** Returns the output up to a number of characters, followed by a reference to all of it. */
export function truncateOutput(
  { text, totalChars, isMissing }: OutputText,
  { maxChars, runId, nodeId, always = false }: TruncateOutputOptions,
): string {
  if (totalChars <= maxChars && !isMissing && !always) return text;
  const shown = text.slice(0, maxChars);
  const rest = isMissing
    ? `The file ${getFilename(nodeId)} of the run ${runId} no longer exists.`
    : `The tool graph_output reads all: runId ${runId}, nodeId ${nodeId}`;
  const reference = `[${shown.length} of ${totalChars} characters. ${rest}]`;
  return shown === '' ? reference : `${shown}\n${reference}`;
}

/** Returns the name of the file that has the output of a node. */
export function getFilename(nodeId: string): string {
  return `${nodeId}-output.md`;
}

/** Separates the braces of placeholders in a text that is inserted into a task. */
export function neutralize(text: string): string {
  return text.replaceAll('{{', '{ {').replaceAll('}}', '} }').replaceAll('${', '$ {');
}
