// Fails when a commit since FIRST_CHECKED has a subject that is not an imperative Conventional Commit of at most 72 characters.
import { execFileSync } from 'node:child_process';
import { findSubjectFault } from './commits/subject.ts';

/** Earlier commits were written before the rule. */
const FIRST_CHECKED = '2026-11-26T01:00:00Z';

function readSubjects(): string[] {
  try {
    const log = execFileSync('git', ['log', '--no-merges', `--since=${FIRST_CHECKED}`, '--format=%h %s'], { encoding: 'utf8' });
    return log.split('\n').filter((line) => line !== '');
  } catch {
    return []; // An archive of the repository has no history.
  }
}

const subjects = readSubjects();
const failures = subjects.flatMap((line) => {
  const fault = findSubjectFault(line.slice(line.indexOf(' ') + 1));
  return fault === undefined ? [] : [`${line}\n    the subject ${fault}`];
});
for (const failure of failures) console.error(failure);
if (failures.length === 0) console.log(`commits: ${subjects.length} subjects are imperative and short enough`);
process.exitCode = failures.length > 0 ? 1 : 0;
