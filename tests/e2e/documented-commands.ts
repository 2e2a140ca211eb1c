// The commands of the documentation: lines of shell blocks in Markdown files.

/** A command of the documentation. */
export interface DocumentedCommand {
  /** The file and the line, such as `README.md:12`. */
  place: string;
  text: string;
}

const SHELL_BLOCK = /^```(sh|bash|shell|console)\n([^]*?)^```$/gm;

/** Finds the commands of a Markdown file. In a `console` block only lines with a prompt are commands. */
export function findCommands(file: string, markdown: string): DocumentedCommand[] {
  return [...markdown.matchAll(SHELL_BLOCK)].flatMap((block) => {
    const [, language, body = ''] = block;
    const firstLine = markdown.slice(0, block.index).split('\n').length + 1;
    const lines = body.split('\n').map((line) => (language === 'console' ? (/^\$ (.*)/.exec(line)?.[1] ?? '') : line));
    return joinLines(lines).map(({ index, text }) => ({ place: `${file}:${firstLine + index}`, text }));
  });
}

/** Joins the lines of a command that continues after a backslash or within quotes. */
function joinLines(lines: readonly string[]): { index: number; text: string }[] {
  const commands: { index: number; text: string }[] = [];
  let open: { index: number; text: string } | undefined;
  for (const [index, line] of lines.entries()) {
    if (open === undefined && (line.trim() === '' || line.startsWith('#'))) continue;
    open = open === undefined ? { index, text: line } : { ...open, text: `${open.text}\n${line}` };
    if (line.endsWith('\\') || countQuotes(open.text) % 2 === 1) continue;
    commands.push(open);
    open = undefined;
  }
  return commands;
}

/** Counts the single quotes of a command. Its comments contain none. */
function countQuotes(text: string): number {
  return text.split("'").length - 1;
}
