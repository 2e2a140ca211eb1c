import { join } from 'node:path';
import { parse } from 'yaml';
import type { CommandContext } from '../../arguments/command-group.ts';
import { confirm } from '../../arguments/confirmation.ts';
import { getText } from '../../arguments/flags.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import { isObject } from '../../output/json-values.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';
import { readSkillFile, readSkillFolder, type SkillFolder } from './skill-folder.ts';

const SKILL_FILE = 'SKILL.md';
const FRONT_MATTER = /^---\r?\n([\s\S]*?)\r?\n---/;
/** The server fetches up to 200 files of another host, and stops after a minute. */
const IMPORT_TIMEOUT_MS = 70_000;
/** Skipped files that a note names. */
const MAX_NAMED = 5;

export async function createSkill({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const content = await readSkillFile(requireFile(flags, `skills create ${name}`));
  const answer = await call('skills.create', {
    name,
    content,
    ...getPlace(flags),
    ...(flags['force'] === undefined ? {} : { force: true }),
  });
  if (output !== 'table') printAs(output, answer);
  else print(`Created ${answer.name}. Users invoke it with /skill:${answer.name}.\n`);
}

export async function uploadSkill({ call, flags, output }: CommandContext, folder: string): Promise<void> {
  const { files, skipped } = await readSkillFolder(folder);
  remarkSkipped(skipped);
  const text = files.find(({ path }) => path === SKILL_FILE)?.content;
  if (text === undefined)
    throw new Failure(`${join(folder, SKILL_FILE)} does not exist. Each skill needs this file.`, `${self()} skills upload --help`);
  const name = flags['name'] ?? readName(text, join(folder, SKILL_FILE));
  const answer = await call('skills.upload', { name, files, ...getPlace(flags) });
  if (output !== 'table') printAs(output, answer);
  else print(`Uploaded ${name}: ${files.length} ${files.length === 1 ? 'file' : 'files'}. Users invoke it with /skill:${name}.\n`);
}

export async function importSkill({ call, flags, output }: CommandContext, url: string): Promise<void> {
  const answer = await call('skills.import', { url, ...getPlace(flags) }, { timeoutMs: IMPORT_TIMEOUT_MS });
  if (output !== 'table') printAs(output, answer);
  else print(`Imported ${answer.name}: ${answer.fileCount} ${answer.fileCount === 1 ? 'file' : 'files'}.\n`);
}

export async function updateSkill({ call, flags, output }: CommandContext, name: string): Promise<void> {
  const content = await readSkillFile(requireFile(flags, `skills update ${name}`));
  const answer = await call('skills.update', { name, content, ...getPlace(flags) });
  if (output !== 'table') printAs(output, answer);
  else print(`Updated ${answer.name}.\n`);
}

export async function deleteSkill({ call, flags, output }: CommandContext, name: string): Promise<void> {
  await confirm(`This permanently deletes the skill ${name} with its files.`, flags, `${self()} skills list`);
  const answer = await call('skills.delete', { name, ...getPlace(flags) });
  if (output !== 'table') printAs(output, answer);
  else print(`Deleted ${name}.\n`);
}

function getPlace(flags: CommandContext['flags']): { agentId?: string; scope?: 'shared' } {
  return { ...getText(flags, 'agent', 'agentId'), ...(flags['shared'] === undefined ? {} : { scope: 'shared' }) };
}

function requireFile(flags: CommandContext['flags'], command: string): string {
  const { file } = flags;
  if (file === undefined) throw wrongUsage(`${command} needs --file with the path of a ${SKILL_FILE}, or - for standard input.`, help());
  return file;
}

/** Returns the name in the front matter. The server checks everything else of it. */
function readName(text: string, file: string): string {
  const name = readFrontMatter(text)['name'];
  if (typeof name === 'string' && name !== '') return name;
  throw new Failure(
    `${file} has no name in its front matter. Begin it with the lines ---, name: …, description: … and ---.`,
    `head -n 4 ${quote(file)}`,
  );
}

function readFrontMatter(text: string): Record<string, unknown> {
  const [, yaml = ''] = FRONT_MATTER.exec(text) ?? [];
  try {
    const fields: unknown = parse(yaml, { maxAliasCount: 0 });
    return isObject(fields) ? fields : {};
  } catch {
    return {};
  }
}

function remarkSkipped(skipped: SkillFolder['skipped']): void {
  for (const [reason, entries] of Map.groupBy(skipped, (entry) => entry.reason)) {
    const names = entries.slice(0, MAX_NAMED).map(({ path }) => path);
    const more = entries.length - names.length;
    remark(`Skipped, ${reason}: ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`);
  }
}

function help(): string {
  return `${self()} skills --help`;
}
