import { ConfigurationPatch, describeIssues, validate } from '@switchyard/contracts';
import { confirm } from '../../arguments/confirmation.ts';
import { readDocument } from '../../arguments/document.ts';
import { Failure } from '../../output/failure.ts';
import type { CommandContext } from '../../arguments/command-group.ts';
import { print, printAs, remark } from '../../output/output.ts';
import { quote, self } from '../../server/installation.ts';
import { getOptions, sayUnread, showChecked, getVersion } from './config-changes.ts';
import { printDiff } from './config-views.ts';

/** Validates a file with the schemas of the CLI. Checks that need the server are done by `--dry-run`. */
export async function checkDocument({ output }: CommandContext, file: string): Promise<void> {
  const read = validate(ConfigurationPatch, readDocument(file));
  const issues = read.success ? [] : describeIssues(read.error);
  if (issues.length > 0) {
    throw new Failure(`${file} is not a valid configuration.`, `${self()} config schema`, { detail: { issues } });
  }
  if (output !== 'table') printAs(output, { valid: true });
  else print(`${file} is valid\n`);
}

/**
 * Replaces the stored configuration. Shows the diff, asks for confirmation, and writes only if the version is still the one that was
 * compared, so that a concurrent change is not overwritten.
 */
export async function applyDocument({ call, flags, output }: CommandContext, file: string): Promise<void> {
  const document = readDocument(file);
  const { dryRun = false, ...options } = getOptions(flags);
  const based = { ...(await newest(call)), ...options };
  const checked = await call('config.apply', { ...document, ...based, dryRun: true });
  if (!('dryRun' in checked)) return;
  if (dryRun || !checked.valid) return showChecked(checked, output);
  const { diff = '' } = checked;
  if (diff === '' && output === 'table') return remark('Nothing would change.');
  if (output === 'table') printDiff(diff);
  await confirm(`${file} replaces the complete stored configuration.`, flags, `${self()} config apply ${quote(file)} --dry-run`);
  const answer = await call('config.apply', { ...document, ...based });
  if (output !== 'table') return printAs(output, { ...answer, diff });
  if ('applied' in answer) print(`${answer.sections.length} sections: ${getVersion(answer.commitSha)}\n`);
  sayUnread(answer.notInForce);
}

export async function patchDocument({ call, flags, output }: CommandContext, file: string): Promise<void> {
  const answer = await call('config.patch', { ...readDocument(file), ...getOptions(flags) });
  if ('dryRun' in answer) return showChecked(answer, output);
  if (output !== 'table') return printAs(output, answer);
  print(`${file} is merged: ${getVersion(answer.commitSha)}\n`);
  sayUnread(answer.notInForce);
}

async function newest(call: CommandContext['call']): Promise<{ baseSha?: string }> {
  const { entries } = await call('config.history', { limit: 1 });
  const [head] = entries;
  return head === undefined ? {} : { baseSha: head.sha };
}
