import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openStore } from '@switchyard/store';
import { workContract } from './work.contract.ts';

const directory = mkdtempSync(join(tmpdir(), 'work-'));
after(() => rmSync(directory, { recursive: true }));

workContract('SQLite', (database) => openStore(`sqlite:${directory}`, { service: database, strict: true }));
