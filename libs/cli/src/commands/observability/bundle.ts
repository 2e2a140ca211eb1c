import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { printAs, remark } from '../../output/output.ts';
import { TURN_ID } from './explain.ts';
import { reportCommand } from './report-command.ts';

export const bundle = reportCommand({
  name: 'bundle',
  takes: '<turn or session>',
  about: 'Writes all evidence of an incident to a folder, without secrets: report, events, messages, prompts and tools.',
  flags: [['out', 'dir', 'folder; default: incident-<turn>']],
  examples: ['bundle default:alice:gateway --out incident', 'bundle turn_4fT0mUq2Zs8KxY1bNcVdGh'],
  async run(call, { words: [subject = ''], flags, output }) {
    const answer = await call('obs.bundle', TURN_ID.test(subject) ? { traceId: subject } : { sessionKey: subject });
    if (output !== 'table') return printAs(output, answer);
    const dir = flags['out'] ?? `incident-${answer.traceId ?? 'unknown'}`;
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const { name, content } of answer.files) writeFileSync(join(dir, basename(name)), content, { mode: 0o600 });
    remark(`${dir} contains ${answer.files.length} files. Read them before you pass them on: secrets are redacted by their form only.`);
    for (const { field, reason } of answer.truncations) remark(`${field}: ${reason}`);
  },
});
