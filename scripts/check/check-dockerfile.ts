import { readFileSync } from 'node:fs';
import { validate } from 'dockerfile-utils';

// Validates the Dockerfile and prints one line per fault.
const FILE = 'deploy/docker/Dockerfile';

const matches = validate(readFileSync(FILE, 'utf8'));
for (const { range, message } of matches)
  console.error(`${FILE}:${range.start.line + 1}: ${typeof message === 'string' ? message : message.value}`);
process.exitCode = matches.length > 0 ? 1 : 0;
