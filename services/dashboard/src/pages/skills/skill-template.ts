/** A SKILL.md with its front matter. Without a description the comment says what belongs there, and the service refuses the text. */
export function renderTemplate(name: string, description?: string): string {
  const sentence = description === undefined ? '# One sentence: what the skill does, and when to use it.' : JSON.stringify(description);
  return `---\nname: ${name}\ndescription: ${sentence}\n---\nWrite the instructions here.\n`;
}

/** Returns the name in the front matter of a SKILL.md, or an empty text. */
export function readName(text: string): string {
  const [, head = ''] = /^---\r?\n([\s\S]*?)\r?\n---/.exec(text) ?? [];
  const [, name = ''] = /^name:[ \t]*["']?([a-z0-9-]+)/m.exec(head) ?? [];
  return name;
}
