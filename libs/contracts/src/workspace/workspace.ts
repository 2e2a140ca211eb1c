import { z } from 'zod';
import { AgentId, Count, IsoTime, pageSize } from '../values/common.ts';
import { defineMethods } from '../definition/define.ts';
import { MAX, boundedString } from '../values/sizes.ts';

export const WorkspaceStatus = z.object({
  dir: boundedString(MAX.path),
  exists: z.boolean(),
  files: z.array(boundedString(MAX.path)).max(MAX.many).describe('existing template files'),
  hasGitRepo: z.boolean(),
  isBootstrapped: z.boolean(),
});

export const WorkspaceFile = z.object({ content: boundedString(MAX.text), sizeBytes: Count });

export const DirectoryEntry = z.object({
  name: boundedString(MAX.name),
  type: z.enum(['file', 'directory']),
  sizeBytes: Count.optional(),
  modifiedAt: IsoTime,
});

export const DirectoryListing = z.object({ entries: z.array(DirectoryEntry).max(MAX.all) });
export const FileWritten = z.object({ written: z.literal(true), sizeBytes: Count });
export const FileDeleted = z.object({ deleted: z.literal(true) });
export const FileReset = z.object({ reset: z.literal(true), fileName: boundedString(MAX.path) });
export const WorkspaceInitialized = z.object({ initialized: z.literal(true), dir: boundedString(MAX.path) });

export const GitStatus = z.object({
  branch: boundedString(MAX.name).describe('HEAD (detached) without a branch'),
  clean: z.boolean(),
  entries: z
    .array(
      z.object({
        path: boundedString(MAX.path),
        status: z.enum(['modified', 'added', 'deleted', 'renamed', 'copied', 'untracked']),
        staged: z.boolean().optional(),
      }),
    )
    .max(MAX.all),
});

export const GitCommit = z.object({
  sha: boundedString(MAX.name),
  author: boundedString(MAX.name),
  date: IsoTime,
  message: boundedString(MAX.line),
});
export const GitLog = z.object({ commits: z.array(GitCommit).max(MAX.all).describe('newest first') });
export const GitDiff = z.object({ diff: boundedString(MAX.payload).describe('unified diff, truncated to 512 KiB with a note') });
export const GitRestored = z.object({ restored: z.literal(true) });

const MAX_WRITE_BYTES = 524_288;

export const FileContent = z
  .string()
  .max(MAX_WRITE_BYTES)
  .refine((text) => text.length * 3 <= MAX_WRITE_BYTES || new TextEncoder().encode(text).length <= MAX_WRITE_BYTES, {
    error: 'text of at most 524288 bytes of UTF-8',
    params: { received: 'longer text' },
  });

const agent = { agentId: AgentId };
const FilePath = z.string().min(1).max(4096).describe('relative to the workspace');
const OneAgent = z.strictObject(agent);
const OneFile = z.strictObject({ ...agent, filePath: FilePath });
const GIT_DEADLINE_MS = 60_000;

const me = { agentId: 'default' };
const commit = {
  sha: '9f2c1e7b5a40d8c3e6f1029384756afbe1d2c3b4',
  author: 'Ada <ada@example.com>',
  date: '2025-11-21T10:00:00.000Z',
  message: 'Tell the agent about trains',
};

export const workspaceMethods = defineMethods({
  'workspace.status': {
    summary: 'Returns whether an agent’s workspace exists and is initialized.',
    scope: 'rpc',
    params: OneAgent,
    result: WorkspaceStatus,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [
      {
        params: me,
        result: {
          dir: '/var/lib/switchyard/workspace',
          exists: true,
          files: ['SOUL.md', 'IDENTITY.md', 'HEARTBEAT.md'],
          hasGitRepo: true,
          isBootstrapped: true,
        },
      },
    ],
  },
  'workspace.readFile': {
    summary: 'Reads a file of the workspace as text.',
    description: 'Up to 1 MiB.',
    scope: 'rpc',
    params: OneFile,
    result: WorkspaceFile,
    idempotent: true,
    blobs: ['content'],
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    examples: [{ params: { ...me, filePath: 'HEARTBEAT.md' }, result: { content: '# Every morning\n', sizeBytes: 16 } }],
  },
  'workspace.listDir': {
    summary: 'Lists one directory of the workspace.',
    description: 'Default: the root. subdir is one of projects, scripts, documents, media, data, output, skills.',
    scope: 'rpc',
    params: z.strictObject({ ...agent, subdir: z.string().min(1).max(4096).optional() }),
    result: DirectoryListing,
    idempotent: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [
      {
        params: { ...me, subdir: 'documents' },
        result: { entries: [{ name: 'timetable.pdf', type: 'file', sizeBytes: 20_480, modifiedAt: '2025-11-21T10:00:00.000Z' }] },
      },
    ],
  },
  'workspace.git.status': {
    summary: 'Returns the changed files since the last commit.',
    scope: 'rpc',
    params: OneAgent,
    result: GitStatus,
    deadlineMs: GIT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: me, result: { branch: 'main', clean: false, entries: [{ path: 'SOUL.md', status: 'modified' }] } }],
  },
  'workspace.git.log': {
    summary: 'Lists the commits, newest first.',
    scope: 'rpc',
    params: z.strictObject({ ...agent, limit: pageSize(50, 200) }),
    result: GitLog,
    deadlineMs: GIT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'FAILED_PRECONDITION'],
    examples: [{ params: { ...me, limit: 1 }, result: { commits: [commit] } }],
  },
  'workspace.git.diff': {
    summary: 'Returns the diff since the last commit, for all files or one.',
    scope: 'rpc',
    params: z.strictObject({ ...agent, filePath: FilePath.optional() }),
    result: GitDiff,
    deadlineMs: GIT_DEADLINE_MS,
    idempotent: true,
    blobs: ['diff'],
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    examples: [
      {
        params: { ...me, filePath: 'SOUL.md' },
        result: { diff: '--- a/SOUL.md\n+++ b/SOUL.md\n@@ -1 +1 @@\n-calm\n+cheerful\n' },
      },
    ],
  },
  'workspace.writeFile': {
    summary: 'Writes a file of the workspace and creates its directories.',
    description: 'Up to 512 KiB of UTF-8. An existing file is replaced.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({ ...agent, filePath: FilePath, content: FileContent }),
    result: FileWritten,
    idempotent: true,
    blobs: ['content'],
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    emits: ['security:injection_detected'],
    examples: [{ params: { ...me, filePath: 'documents/plan.md', content: '# Plan\n' }, result: { written: true, sizeBytes: 7 } }],
  },
  'workspace.deleteFile': {
    summary: 'Deletes a file of the workspace.',
    scope: 'admin',
    audited: 'destructive',
    params: OneFile,
    result: FileDeleted,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [{ params: { ...me, filePath: 'documents/plan.md' }, result: { deleted: true } }],
  },
  'workspace.resetFile': {
    summary: 'Restores the original content of a template file.',
    scope: 'admin',
    audited: 'mutate',
    params: z.strictObject({ ...agent, fileName: z.string().min(1).max(255).describe('SOUL.md, IDENTITY.md, USER.md, …') }),
    result: FileReset,
    idempotent: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT'],
    examples: [{ params: { ...me, fileName: 'HEARTBEAT.md' }, result: { reset: true, fileName: 'HEARTBEAT.md' } }],
  },
  'workspace.init': {
    summary: 'Creates the workspace with its directories and template files; existing files are kept.',
    scope: 'admin',
    audited: 'mutate',
    params: OneAgent,
    result: WorkspaceInitialized,
    idempotent: true,
    errors: ['NOT_FOUND'],
    examples: [{ params: me, result: { initialized: true, dir: '/var/lib/switchyard/workspace' } }],
  },
  'workspace.git.commit': {
    summary: 'Commits changes in all files or the given ones.',
    scope: 'admin',
    params: z.strictObject({
      ...agent,
      message: z.string().min(1).max(500).optional(),
      paths: z.array(FilePath).max(1000).optional(),
    }),
    result: GitCommit,
    deadlineMs: GIT_DEADLINE_MS,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    examples: [{ params: { ...me, message: commit.message, paths: ['SOUL.md'] }, result: commit }],
  },
  'workspace.git.restore': {
    summary: 'Restores a file from the last commit.',
    scope: 'admin',
    audited: 'destructive',
    params: OneFile,
    result: GitRestored,
    deadlineMs: GIT_DEADLINE_MS,
    idempotent: true,
    errors: ['NOT_FOUND', 'INVALID_ARGUMENT', 'FAILED_PRECONDITION'],
    examples: [{ params: { ...me, filePath: 'SOUL.md' }, result: { restored: true } }],
  },
});
