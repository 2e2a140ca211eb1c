import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { openStore } from '@switchyard/store';
import { roomsContract } from './rooms.contract.ts';
import { runHereContract } from './run-here.contract.ts';
import { workContract } from './work.contract.ts';
import type { OpenStore } from './work.fixture.ts';

const directory = mkdtempSync(join(tmpdir(), 'work-'));
after(() => rmSync(directory, { recursive: true }));

const open: OpenStore = (database) => openStore(`sqlite:${directory}`, { service: database, strict: true });
workContract('SQLite', open);
runHereContract('SQLite', open);
roomsContract('SQLite', open);
