import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { unbounded } from '@switchyard/testkit';
import { RateLimitMessage } from './auth/rate-limit-sync.ts';
import { StoredTicket } from './auth/tickets.ts';
import { StrictPayload } from './webhooks/strict-body.ts';
import { AgentToolInput } from './mcp/tools.ts';
import { SignInBody } from './rest/browser-sign-in.ts';
import { ChatBody } from './rest/chat-request.ts';
import { CompletionBody } from './openai/chat-completions/completion-body.ts';
import { LenientBody } from './openai/chat-completions/lenient-completion.ts';
import { EmbeddingsBody, LenientEmbeddingsBody } from './openai/embeddings.ts';
import { LenientInput } from './openai/responses/lenient-items.ts';
import { LenientTool, LenientToolChoice } from './openai/responses/lenient-tools.ts';
import { LenientContent } from './openai/lenient-content.ts';
import { ResponseInput } from './openai/responses/response-items.ts';
import { StrictBody } from './openai/responses/response-schema.ts';
import { ResponseTool, ResponseToolChoice } from './openai/responses/response-tools.ts';
import { callId, name, text } from './openai/openai-fields.ts';
import { z } from 'zod';

const bodies = {
  'auth/rate-limit-sync.ts': RateLimitMessage,
  'auth/tickets.ts': StoredTicket,
  'webhooks/strict-body.ts': StrictPayload,
  'mcp/tools.ts': AgentToolInput,
  'rest/browser-sign-in.ts': SignInBody,
  'rest/chat-request.ts': ChatBody,
  'openai/chat-completions/completion-body.ts': CompletionBody,
  'openai/chat-completions/lenient-completion.ts': LenientBody,
  'openai/embeddings.ts': z.tuple([EmbeddingsBody, LenientEmbeddingsBody]),
  'openai/responses/lenient-items.ts': LenientInput,
  'openai/responses/lenient-tools.ts': z.tuple([LenientTool, LenientToolChoice]),
  'openai/responses/response-items.ts': ResponseInput,
  'openai/responses/response-schema.ts': StrictBody,
  'openai/responses/response-tools.ts': z.tuple([ResponseTool, ResponseToolChoice]),
  'openai/lenient-content.ts': LenientContent,
  'openai/openai-fields.ts': z.tuple([text, name, callId]),
};

/** Used only for documents and not for parsing. */
const DOCUMENTATION_ONLY = 'openapi/schemas.ts';

test('every string and list of a body schema has a maximum', () => {
  for (const [file, schema] of Object.entries(bodies)) assert.deepEqual(unbounded(schema), [], file);
});

test('every file with a body schema is checked', async () => {
  const root = new URL('./', import.meta.url);
  const declaring: string[] = [];
  for await (const file of glob('**/*.ts', { cwd: root })) {
    const code = file.endsWith('.test.ts') || file === DOCUMENTATION_ONLY ? '' : await readFile(new URL(file, root), 'utf8');
    // An object without fields has nothing to bound.
    if (/\bz\s*\.(object|strictObject|looseObject|array|record|string)\((?!\{\}\))/.test(code)) declaring.push(file);
  }
  assert.deepEqual(declaring.sort(), Object.keys(bodies).sort());
});
