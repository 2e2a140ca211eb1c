import assert from 'node:assert/strict';
import { test } from 'node:test';
import { doubleOf } from '@switchyard/testkit';
import { NOW, openTestDownloads } from './import.fixture.ts';
import { parseGithubAddress } from './github-address.ts';
import { readSkillSource } from './skill-source.ts';

const SHA = 'a'.repeat(40);
const signal = new AbortController().signal;

type Files = Readonly<Record<string, string | Uint8Array>>;

/** Answers the API of GitHub for the repository `me/skills`, which has the refs `HEAD`, `main` and `feature/x`. */
function answerApi(files: Files, url: string): { status: number; body: string } {
  const path = decodeURIComponent(url);
  const ref = /^\/repos\/me\/skills\/commits\/(.+)$/.exec(path)?.[1];
  if (ref !== undefined) return { status: ['HEAD', 'main', 'feature/x'].includes(ref) ? 200 : 422, body: SHA };
  const folder = new RegExp(`^/repos/me/skills/contents(/.*)?\\?ref=${SHA}$`).exec(path);
  const prefix = `${folder?.[1] ?? ''}/`.slice(1);
  const names = Object.keys(files).filter((name) => name.startsWith(prefix));
  if (folder === null || names.length === 0) return { status: 404, body: '{}' };
  const children = new Map(names.map((name) => [name.slice(prefix.length).split('/')[0] ?? '', name.slice(prefix.length).includes('/')]));
  const entries = [...children].map(([name, isFolder]) => ({
    name,
    type: isFolder ? 'dir' : 'file',
    size: 1,
    download_url: isFolder ? null : 'x',
  }));
  return { status: 200, body: JSON.stringify(entries) };
}

function serveRepository(files: Files) {
  return doubleOf.outside({
    'api.github.com'({ url = '' }, response) {
      const { status, body } = answerApi(files, url);
      response.writeHead(status).end(body);
    },
    'raw.githubusercontent.com'({ url = '' }, response) {
      const content = files[decodeURIComponent(url).replace(`/me/skills/${SHA}/`, '')];
      response.writeHead(content === undefined ? 404 : 200).end(content);
    },
  });
}

const FILES: Files = {
  'README.md': 'x',
  'notes/SKILL.md': 'skill',
  'notes/scripts/a b.py': 'print(1)',
  'notes/logo.png': 'x',
  'notes/data.db': new Uint8Array([0, 1]),
};

test('parseGithubAddress reads addresses of folders', () => {
  const parse = (path: string) => parseGithubAddress(new URL(`https://github.com${path}`))?.refAndPath;
  assert.deepEqual(parse('/me/skills'), []);
  assert.deepEqual(parse('/me/skills.git/'), []);
  assert.deepEqual(parse('/me/skills/tree/main/a%20b/c/'), ['main', 'a b', 'c']);
  assert.deepEqual(parse('/me/skills/blob/main/notes/SKILL.md'), ['main', 'notes']);
  for (const path of ['/me', '/', '/me/skills/archive/main.zip', '/me/skills/tree', '/me/skills/blob/main/README.md'])
    assert.equal(parse(path), undefined, path);
  assert.equal(parseGithubAddress(new URL('https://github.com.example/me/skills')), undefined);
});

test('readSkillSource reads the text files of a folder, all of one commit', async () => {
  await using outside = await serveRepository(FILES);
  await using downloads = openTestDownloads();
  for (const ref of ['main', 'feature/x']) {
    const source = await readSkillSource(`https://github.com/me/skills/tree/${ref}/notes`, downloads, signal);
    assert.deepEqual(source, {
      files: [
        { path: 'SKILL.md', content: 'skill' },
        { path: 'scripts/a b.py', content: 'print(1)' },
      ],
      skippedFiles: 2,
    });
  }
  assert.ok(outside.requests.some((request) => request === `GET raw.githubusercontent.com/me/skills/${SHA}/notes/SKILL.md`));
  assert.ok(!outside.requests.some((request) => request.includes('logo.png')));
});

test('readSkillSource reads the root of the default branch', async () => {
  await using _outside = await serveRepository({ 'SKILL.md': 'skill' });
  await using downloads = openTestDownloads();
  assert.equal((await readSkillSource('https://github.com/me/skills', downloads, signal)).files[0]?.content, 'skill');
});

test('readSkillSource lists the names of a folder without SKILL.md, and reads no subfolder', async () => {
  await using outside = await serveRepository(FILES);
  await using downloads = openTestDownloads();
  await assert.rejects(readSkillSource('https://github.com/me/skills', downloads, signal), {
    code: 'INVALID_ARGUMENT',
    message: /url: expected a folder with SKILL\.md, got README\.md, notes\//,
  });
  assert.equal(outside.requests.length, 2);
});

test('readSkillSource names a missing repository, ref or folder', async () => {
  await using _outside = await serveRepository(FILES);
  await using downloads = openTestDownloads();
  for (const [path, message] of [
    ['me/none', /GitHub does not have me\/none, or it is private/],
    ['me/skills/tree/none/notes', /me\/skills at none\/notes/],
    ['me/skills/tree/main/none', /the folder none of me\/skills/],
  ] as const)
    await assert.rejects(readSkillSource(`https://github.com/${path}`, downloads, signal), { code: 'NOT_FOUND', message });
});

test('readSkillSource bounds depth, files and requests', async () => {
  const deep = `${'a/'.repeat(9)}b.md`;
  const files = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`f${at}.md`, 'x']));
  const folders = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`d${at}/a.md`, 'x']));
  for (const [more, message] of [
    [{ [deep]: 'x' }, /at most 8 levels/],
    [files, /at most 200 files/],
    [folders, /30 requests/],
    [{ 'a.md': 'x'.repeat(4_000_000) }, /at most 4000000 characters/],
  ] as const) {
    await using _outside = await serveRepository({ 'SKILL.md': 'skill', ...more });
    await using downloads = openTestDownloads();
    await assert.rejects(readSkillSource('https://github.com/me/skills', downloads, signal), { code: 'INVALID_ARGUMENT', message });
  }
});

test('readSkillSource reports the rate limit of GitHub with the time of the next attempt', async () => {
  await using outside = await doubleOf.outside({
    'api.github.com': (_, response) =>
      void response.writeHead(403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(NOW / 1_000 + 90) }).end('{}'),
  });
  await using downloads = openTestDownloads();
  await assert.rejects(readSkillSource('https://github.com/me/skills', downloads, signal), {
    code: 'UNAVAILABLE',
    message: /api\.github\.com accepts no more requests from this address for 90 s\. Try again then, or import a \.zip archive\./,
    details: { reason: 'UPSTREAM_RATE_LIMIT', retryable: true, retryAfterMs: 90_000 },
  });
  assert.equal(outside.requests.length, 1);
});

test('readSkillSource repeats a failed read once', async () => {
  let failures = 1;
  await using outside = await doubleOf.outside({
    'host.example': (_, response) => void (failures-- > 0 ? response.writeHead(503).end() : response.end('skill')),
  });
  await using downloads = openTestDownloads();
  const { files } = await readSkillSource('https://host.example/SKILL.md', downloads, signal);
  assert.deepEqual(files, [{ path: 'SKILL.md', content: 'skill' }]);
  failures = 9;
  await assert.rejects(readSkillSource('https://host.example/SKILL.md', downloads, signal), { code: 'UNAVAILABLE', message: /status 503/ });
  assert.equal(outside.requests.length, 4);
});
