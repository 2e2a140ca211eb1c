import { z } from 'zod';
import { Count } from '../values/common.ts';
import { defineOperations } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';
import { DirectoryListing, FileContent, FileWritten } from './workspace.ts';

const path = z.string().min(1).max(4096).describe('relative to the workspace');

/** Files of the workspace of the agent that the principal acts as. Other services use them too, so the encoding may be base64. */
export const fileOperations = defineOperations({
  'files.read': {
    summary: 'Reads a file of the workspace.',
    callers: ['sessions', 'media', 'channels', 'graph', 'scheduler'],
    tool: { name: 'read', group: 'files' },
    params: z.strictObject({
      path,
      offset: z.int().nonnegative().default(0).describe('first line'),
      limit: z.int().positive().max(10_000).optional().describe('number of lines; default: all'),
      encoding: z.enum(['utf8', 'base64']).default('utf8'),
    }),
    result: z.object({
      content: boundedString(MAX.payload),
      sizeBytes: Count,
      lines: Count.optional().describe('lines of the whole file'),
    }),
    blobs: ['content'],
    idempotent: true,
    reads: true,
  },
  'files.write': {
    summary: 'Writes a file of the workspace and creates its folders.',
    callers: ['sessions', 'media', 'channels', 'graph'],
    tool: { name: 'write', group: 'files' },
    params: z.strictObject({ path, content: FileContent }),
    result: FileWritten,
    blobs: ['content'],
    idempotent: true,
  },
  'files.list': {
    summary: 'Lists a folder of the workspace.',
    callers: ['sessions', 'media', 'channels', 'graph'],
    tool: { name: 'ls', group: 'files' },
    params: z.strictObject({ path: path.default('.') }),
    result: DirectoryListing,
    blobs: ['entries'],
    idempotent: true,
    reads: true,
  },
});
