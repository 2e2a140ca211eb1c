import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Configuration, ServiceError } from '@switchyard/contracts';
import { createDocumentParser } from '../../services/media/src/processes/parser-process.ts';
import { countFound } from './word-recall.ts';

/**
 * Reads the test corpus of Apache Tika (`make test-documents`) and compares the words with those of Tika. Maven downloads both, 250 MB;
 * Java runs Tika. Each file must end as a text or as a named refusal or limit. Shares of words are reported and not judged: Tika opens
 * documents inside of documents and names their types, which is not done here.
 */
const VERSION = '1.28.5';
const HOME = join('.tools', `tika-${VERSION}`);
const CORPUS = join(HOME, 'test-documents');
const REFERENCE = join(HOME, 'text');
const MAX_BYTES = 10 * 1024 * 1024;
const LIMITS = { tenant: 'corpus', timeoutMs: 30_000, mode: 'document', maxChars: 2_000_000, maxPages: 1_000 } as const;
/** Files with a smaller share of the words of Tika are listed. */
const GOOD_RECALL = 0.95;
const MIN_FILES = 800;
const { allowedMimes: allowedTypes } = Configuration.parse({}).media.documentExtraction;

interface Outcome {
  file: string;
  /** A media type, or the reason of a refusal. */
  result: string;
  recall?: number;
  isNamed: boolean;
}

download();
const outcomes = await readAll();
report(outcomes);

function download(): void {
  if (!existsSync(CORPUS)) {
    mkdirSync(HOME, { recursive: true });
    for (const artifact of [`tika-parsers:${VERSION}:jar:tests`, `tika-app:${VERSION}`]) {
      const copy = ['-q', 'dependency:copy', `-Dartifact=org.apache.tika:${artifact}`, `-DoutputDirectory=${HOME}`];
      execFileSync('mvn', copy, { stdio: ['ignore', 'inherit', 'inherit'] });
    }
    execFileSync('jar', ['xf', `tika-parsers-${VERSION}-tests.jar`, 'test-documents'], { cwd: HOME });
  }
  if (existsSync(REFERENCE)) return;
  console.log('Tika reads the corpus, some two minutes …');
  const batch = ['-Xmx700m', '-jar', join(HOME, `tika-app-${VERSION}.jar`), '-t', '-i', CORPUS, '-o', REFERENCE, '-numConsumers', '1'];
  execFileSync('java', batch, { stdio: 'ignore' });
}

async function readAll(): Promise<Outcome[]> {
  const parser = createDocumentParser({ warn: (fields, message) => console.error(message, fields) });
  const files = (readdirSync(CORPUS, { recursive: true }) as string[]).filter((file) => statSync(join(CORPUS, file)).isFile());
  const found: Outcome[] = [];
  const pending = files.toReversed();
  async function work(): Promise<void> {
    for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
      found.push(await readOne(file));
      if (process.stdout.isTTY) process.stdout.write(`\r${found.length} of ${files.length} files`);
    }
  }
  await Promise.all([work(), work()]);
  return found;

  async function readOne(file: string): Promise<Outcome> {
    const bytes = readFileSync(join(CORPUS, file));
    if (bytes.length > MAX_BYTES) return { file, result: 'FILE_TOO_LARGE', isNamed: true };
    try {
      const options = { ...LIMITS, signal: new AbortController().signal, allowedTypes };
      const { text, mimeType } = await parser.parse(bytes, options);
      const reference = join(REFERENCE, `${file}.txt`);
      if (!existsSync(reference)) return { file, result: mimeType, isNamed: true };
      const { found: hits, words } = countFound(text, readFileSync(reference, 'utf8'));
      return { file, result: mimeType, isNamed: true, ...(words > 0 && { recall: hits / words }) };
    } catch (error) {
      const reason = error instanceof ServiceError ? error.details?.['reason'] : undefined;
      return { file, result: typeof reason === 'string' ? reason : String(error), isNamed: typeof reason === 'string' };
    }
  }
}

function report(found: readonly Outcome[]): void {
  const problems = found.filter(({ isNamed }) => !isNamed).map(({ file, result }) => `${file}: ${result}`);
  if (found.length < MIN_FILES) problems.push(`only ${found.length} files were read`);
  for (const [type, files] of Map.groupBy(found, ({ result }) => result)) {
    const recalls = files.flatMap(({ recall }) => recall ?? []).toSorted((a, b) => a - b);
    const median = recalls[Math.floor(recalls.length / 2)];
    const share = median === undefined ? '' : `, half have at least ${(100 * median).toFixed(0)} % of the words`;
    console.log(`${String(files.length).padStart(4)}  ${type}${share}`);
  }
  for (const { file, recall } of found.filter(({ recall = 1 }) => recall < GOOD_RECALL))
    console.log(`      ${recall?.toFixed(2)}  ${file}`);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length === 0 ? 0 : 1;
}
