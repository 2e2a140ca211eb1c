/** Renders Markdown as words: no marks, no addresses, no code. */
export function toSpokenText(markdown: string): string {
  return markdown
    .replaceAll(/```[\s\S]*?(?:```|$)/g, ' ')
    .replaceAll(/!\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')
    .replaceAll(/<https?:\/\/[^>\s]+>|https?:\/\/\S+/g, '')
    .replaceAll(/^[ \t]*\|?[ \t]*:?-{3,}:?[ \t]*(?:\|[ \t]*:?-{3,}:?[ \t]*)*\|?[ \t]*$/gm, '')
    .replaceAll(
      /^[ \t]*\|(.+)\|[ \t]*$/gm,
      (_, row: string) =>
        `${row
          .split('|')
          .map((cell) => cell.trim())
          .join(', ')}.`,
    )
    .replaceAll(/^[ \t]{0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$/gm, (_, title: string) => (/[.!?:]$/.test(title) ? title : `${title}.`))
    .replaceAll(/^[ \t]*>[ \t]?/gm, '')
    .replaceAll(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+/gm, '')
    .replaceAll(/^[ \t]*(?:[-*_][ \t]*){3,}$/gm, '')
    .replaceAll(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
    .replaceAll(/(?<![\w*])[*_](?=\S)(.+?)(?<=\S)[*_](?![\w*])/g, '$1')
    .replaceAll(/~~(.+?)~~/g, '$1')
    .replaceAll(/`([^`\n]+)`/g, '$1')
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ ?\n ?/g, '\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}
