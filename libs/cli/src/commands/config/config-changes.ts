import type { CallResult } from '@switchyard/client';
import { confirm } from '../../arguments/confirmation.ts';
import { Failure, wrongUsage } from '../../output/failure.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { parseJson } from '../../output/json-values.ts';
import { self } from '../../server/installation.ts';
import { goBackOffline } from './offline-rollback.ts';
import { printDiff, ROOT_KEYS, SHORT } from './config-views.ts';

export type Checked = Extract<CallResult<'config.set'>, { dryRun: true }>;

export async function changeKey({ call, flags, output }: CommandContext, path: string, text: string): Promise<void> {
  const value = parseJson(text) ?? (text === 'null' ? null : text);
  const [section = '', ...keys] = path.split('.');
  const root = ROOT_KEYS.has(path);
  if (!root && keys.length === 0) throw wrongUsage(`${path} is a section. config set needs a key in it.`, `${self()} config get ${path}`);
  const options = getOptions(flags);
  const answer = root
    ? await call('config.patch', { [path]: value, ...options })
    : await call('config.set', { section, key: keys.join('.'), value, ...options });
  if ('dryRun' in answer) return showChecked(answer, output);
  if (output !== 'table') return printAs(output, answer);
  const previous = !('previous' in answer) || answer.previous === undefined ? '' : ` (before: ${JSON.stringify(answer.previous)})`;
  print(`${path} is ${value === null ? 'reset to its default' : JSON.stringify(value)}${previous}: ${getVersion(answer.commitSha)}\n`);
  sayUnread(answer.notInForce);
}

/** Without `--offline` the version must be named, because the server tells which versions exist. */
export async function goBack(context: CommandContext, sha?: string): Promise<void> {
  const { call, flags, output } = context;
  if (flags['offline'] !== undefined) return goBackOffline(context, sha);
  if (sha === undefined) throw wrongUsage('config rollback needs a version.', `${self()} config history`);
  const answer = await call('config.rollback', { sha, ...getOptions(flags) });
  if ('dryRun' in answer) return showChecked(answer, output);
  if (output !== 'table') return printAs(output, answer);
  print(`Version ${answer.newCommitSha.slice(0, SHORT)} restores version ${answer.sha.slice(0, SHORT)}.\n`);
}

export async function foldVersions({ call, flags, output }: CommandContext): Promise<void> {
  const dryRun = flags['dry-run'] !== undefined;
  if (!dryRun)
    await confirm(
      'This merges all versions before the newest 50 into one. You cannot roll back to them afterwards.',
      flags,
      `${self()} config gc --dry-run`,
    );
  const answer = await call('config.gc', dryRun ? { dryRun } : {});
  if (output !== 'table') return printAs(output, answer);
  const { squashed = 0, newRootSha } = answer;
  if (squashed === 0) return remark('There are no more than 50 versions. Nothing was merged.');
  const root = newRootSha === undefined ? '' : `; the oldest version is now ${newRootSha.slice(0, SHORT)}`;
  print(`${squashed} versions ${dryRun ? 'would be' : 'were'} merged${root}\n`);
}

/** Prints the result of a dry run: the diff, or why the write would be rejected. */
export function showChecked(checked: Checked, output: CommandContext['output']): void {
  const { valid, errors, diff = '', notInForce } = checked;
  if (output !== 'table') printAs(output, checked);
  else if (valid && diff === '') remark('Nothing would change.');
  else if (diff !== '') printDiff(diff);
  sayUnread(notInForce);
  if (!valid) throw new Failure(`The change is invalid: ${errors.join('; ')}.`, `${self()} config schema`);
}

export function sayUnread(paths: readonly string[] = []): void {
  for (const path of paths) remark(`No service uses ${path} yet.`);
}

export function getVersion(sha: string | undefined): string {
  return `version ${sha?.slice(0, SHORT) ?? ''}`.trimEnd();
}

export function getOptions(flags: CommandContext['flags']): { baseSha?: string; message?: string; dryRun?: true } {
  const { base, message } = flags;
  return {
    ...(base === undefined ? {} : { baseSha: base }),
    ...(message === undefined ? {} : { message }),
    ...(flags['dry-run'] === undefined ? {} : { dryRun: true }),
  };
}
