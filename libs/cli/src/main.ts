#!/usr/bin/env node
import { runCommandLine } from './run-command-line.ts';

// The reader of a pipe may exit first, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2));
