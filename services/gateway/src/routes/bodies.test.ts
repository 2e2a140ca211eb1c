import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { unbounded } from '@switchyard/testkit';
import { Written } from '../admission/telling.ts';
import { KeptTicket } from '../admission/tickets.ts';
import { StrictPayload } from '../hooks/strict.ts';
import { Asked } from '../mcp/tools.ts';
import { ChatBody } from './chat-request.ts';
import { CompletionBody } from './completion-body.ts';
import { LenientBody } from './completion-lenient.ts';
import { EmbeddingsBody } from './embeddings.ts';
import { ResponseInput } from './response-items.ts';
import { StrictBody } from './response-schema.ts';
import { ResponseTool, ResponseToolChoice } from './response-tools.ts';
import { callId, name, text } from './v1-fields.ts';
import { z } from 'zod';

const bodies = {
  'admission/telling.ts': Written,
  'admission/tickets.ts': KeptTicket,
  'hooks/strict.ts': StrictPayload,
  'mcp/tools.ts': Asked,
  'routes/chat-request.ts': ChatBody,
  'routes/completion-body.ts': CompletionBody,
  'routes/completion-lenient.ts': LenientBody,
  'routes/embeddings.ts': EmbeddingsBody,
  'routes/response-items.ts': ResponseInput,
  'routes/response-schema.ts': StrictBody,
  'routes/response-tools.ts': z.tuple([ResponseTool, ResponseToolChoice]),
  'routes/v1-fields.ts': z.tuple([text, name, callId]),
};

/** For documents: nothing that comes in is read by it. */
const WRITTEN_DOWN = 'docs/shapes.ts';

test('every text and list of a body has a maximum', () => {
  for (const [file, schema] of Object.entries(bodies)) assert.deepEqual(unbounded(schema), [], file);
});

test('no schema of a body is left out', async () => {
  const root = new URL('../', import.meta.url);
  const declaring: string[] = [];
  for await (const file of glob('**/*.ts', { cwd: root })) {
    const code = file.endsWith('.test.ts') || file === WRITTEN_DOWN ? '' : await readFile(new URL(file, root), 'utf8');
    // An object without fields takes nothing, so nothing in it can be large.
    if (/\bz\s*\.(object|strictObject|looseObject|array|record|string)\((?!\{\}\))/.test(code)) declaring.push(file);
  }
  assert.deepEqual(declaring.sort(), Object.keys(bodies).sort());
});
