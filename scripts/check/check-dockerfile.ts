import { readFileSync } from 'node:fs';
import { validate } from 'dockerfile-utils';

// Whether a builder would take the Dockerfile: one sentence for each place where it would not.
const FILE = 'deploy/docker/Dockerfile';

const found = validate(readFileSync(FILE, 'utf8'));
for (const { range, message } of found)
  console.error(`${FILE}:${range.start.line + 1}: ${typeof message === 'string' ? message : message.value}`);
process.exitCode = found.length > 0 ? 1 : 0;
