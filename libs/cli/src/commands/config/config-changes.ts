import type { CallResult } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import type { Given } from '../../arguments/command-group.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { parseJson } from '../../output/json-values.ts';
import { self } from '../../server/installation.ts';
import { printDiff, ROOT_KEYS, SHORT } from './config-views.ts';

export type Checked = Extract<CallResult<'config.set'>, { dryRun: true }>;

export async function changeKey({ call, flags, output }: Given, path: string, text: string): Promise<void> {
  const value = parseJson(text) ?? (text === 'null' ? null : text);
  const [section = '', ...keys] = path.split('.');
  const root = ROOT_KEYS.has(path);
  if (!root && keys.length === 0) throw wrongUsage(`${path} is a section; set takes a key of it.`, `${self()} config get ${path}`);
  const options = optionsOf(flags);
  const answer = root
    ? await call('config.patch', { [path]: value, ...options })
    : await call('config.set', { section, key: keys.join('.'), value, ...options });
  if ('dryRun' in answer) return showChecked(answer, output);
  if (output !== 'table') return printAs(output, answer);
  const previous = !('previous' in answer) || answer.previous === undefined ? '' : `, and was ${JSON.stringify(answer.previous)}`;
  print(`${path} is ${value === null ? 'what it was without' : JSON.stringify(value)}${previous}: ${versionOf(answer.commitSha)}\n`);
  sayUnread(answer.notInForce);
}

export async function goBack({ call, flags, output }: Given, sha: string): Promise<void> {
  const answer = await call('config.rollback', { sha, ...optionsOf(flags) });
  if ('dryRun' in answer) return showChecked(answer, output);
  if (output !== 'table') return printAs(output, answer);
  print(`version ${answer.newCommitSha.slice(0, SHORT)} says what ${answer.sha.slice(0, SHORT)} said\n`);
}

export async function foldVersions({ call, flags, output }: Given): Promise<void> {
  const dryRun = flags['dry-run'] !== undefined;
  if (!dryRun)
    await confirm('What is older than the newest 50 versions cannot be gone back to any more.', flags, `${self()} config gc --dry-run`);
  const answer = await call('config.gc', dryRun ? { dryRun } : {});
  if (output !== 'table') return printAs(output, answer);
  const { squashed = 0, newRootSha } = answer;
  if (squashed === 0) return remark('There is nothing to fold.');
  const root = newRootSha === undefined ? '' : `; the oldest is ${newRootSha.slice(0, SHORT)}`;
  print(`${squashed} versions ${dryRun ? 'would be' : 'are'} folded${root}\n`);
}

/** Prints the result of a dry run: the diff, or why the write would be rejected. */
export function showChecked(checked: Checked, output: Given['output']): void {
  const { valid, errors, diff = '', notInForce } = checked;
  if (output !== 'table') printAs(output, checked);
  else if (valid && diff === '') remark('Nothing would change.');
  else if (diff !== '') printDiff(diff);
  sayUnread(notInForce);
  if (!valid) throw new Failure(`It would be refused: ${errors.join('; ')}.`, `${self()} config schema`);
}

export function sayUnread(paths: readonly string[] = []): void {
  for (const path of paths) remark(`Nothing reads ${path} yet.`);
}

export function versionOf(sha: string | undefined): string {
  return `version ${sha?.slice(0, SHORT) ?? ''}`.trimEnd();
}

export function optionsOf(flags: Given['flags']): { baseSha?: string; message?: string; dryRun?: true } {
  const { base, message } = flags;
  return {
    ...(base === undefined ? {} : { baseSha: base }),
    ...(message === undefined ? {} : { message }),
    ...(flags['dry-run'] === undefined ? {} : { dryRun: true }),
  };
}
