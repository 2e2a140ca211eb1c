import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildGoProgram, type GoProgram } from '../kube/programs/go.ts';

/** Paths of the programs that test charts. A program that cannot be installed here is undefined, and `missing` has the reason. */
export interface ChartTools {
  helm: string;
  helm4: string | undefined;
  kubeconform: string | undefined;
  kubeScore: string | undefined;
  helmUnittest: string | undefined;
  /** Folder with the JSON Schemas of Kubernetes. */
  schemas: string | undefined;
  /** A sentence for each program that is undefined. */
  missing: readonly string[];
}

const FOLDER = fileURLToPath(new URL('../../.tools/helm', import.meta.url));
const SCHEMAS = 'kubernetes-validate==1.37.0';
/** The oldest Kubernetes that the charts support, and the newest. */
export const KUBERNETES_VERSIONS = ['1.30.0', '1.37.0'];

const HELM: GoProgram = { name: 'helm', package: 'helm.sh/helm/v3/cmd/helm', version: 'v3.22.0' };
const HELM_4: GoProgram = { name: 'helm', file: 'helm4', package: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' };
const KUBECONFORM: GoProgram = { name: 'kubeconform', package: 'github.com/yannh/kubeconform/cmd/kubeconform', version: 'v0.8.0' };
const KUBE_SCORE: GoProgram = { name: 'kube-score', package: 'github.com/zegl/kube-score/cmd/kube-score', version: 'v1.20.0' };
const HELM_UNITTEST: GoProgram = {
  name: 'helm-unittest',
  package: 'github.com/helm-unittest/helm-unittest/cmd/helm-unittest',
  version: 'v1.1.2',
  replacements: ['github.com/vmware-labs/yaml-jsonpath@v0.3.2=github.com/helm-unittest/yaml-jsonpath@v0.4.0'],
};

/** Installs the tools once, with Go and pip. Throws if there is no Helm and no Go. */
export function installTools(onProgress: (text: string) => void): ChartTools {
  const missing: string[] = [];
  const install = (name: string, run: () => string): string | undefined => {
    try {
      return run();
    } catch (error) {
      missing.push(`${name} cannot be installed: ${firstLine(error)}`);
      return undefined;
    }
  };
  const build = (program: GoProgram): string | undefined => install(program.file ?? program.name, () => goTool(program, onProgress));
  return {
    helm: installHelm(onProgress),
    helm4: build(HELM_4),
    kubeconform: build(KUBECONFORM),
    kubeScore: build(KUBE_SCORE),
    helmUnittest: build(HELM_UNITTEST),
    schemas: install('the schemas of Kubernetes', () => installSchemas(onProgress)),
    missing,
  };
}

/** Installs Helm 3 once, with Go, and returns its path. */
export function installHelm(onProgress: (text: string) => void): string {
  return goTool(HELM, onProgress);
}

/** Installs Helm 4 once, with Go, and returns its path. */
export function installHelm4(onProgress: (text: string) => void): string {
  return goTool(HELM_4, onProgress);
}

function goTool(program: GoProgram, onProgress: (text: string) => void): string {
  if (!existsSync(join(FOLDER, program.file ?? program.name)))
    onProgress(`building ${program.package}@${program.version} (a few minutes, once)`);
  return buildGoProgram(program, FOLDER);
}

/** The schemas name each other by addresses of a server; here they are files. */
function installSchemas(onProgress: (text: string) => void): string {
  const schemas = join(FOLDER, 'schemas');
  if (existsSync(schemas)) return schemas;
  mkdirSync(FOLDER, { recursive: true });
  onProgress('downloading the schemas of Kubernetes (once)');
  const download = join(FOLDER, 'download');
  rmSync(download, { recursive: true, force: true });
  execFileSync('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', download, SCHEMAS], { stdio: 'pipe' });
  const source = join(download, 'kubernetes_validate', 'kubernetes-json-schema');
  const local = join(FOLDER, 'local-schemas');
  rmSync(local, { recursive: true, force: true });
  for (const version of KUBERNETES_VERSIONS) {
    const strict = `v${version}-local-strict`;
    mkdirSync(join(local, strict), { recursive: true });
    for (const file of readdirSync(join(source, strict)))
      writeFileSync(
        join(local, strict, file),
        JSON.stringify(JSON.parse(readFileSync(join(source, strict, file), 'utf8'), localReference)),
      );
  }
  renameSync(local, schemas);
  rmSync(download, { recursive: true });
  return schemas;
}

function localReference(key: string, value: unknown): unknown {
  if (key === '$id' && typeof value === 'string') return undefined;
  return key === '$ref' && typeof value === 'string' ? value.replace(/^.*\/(?=_definitions\.json#)/, '') : value;
}

/** Go and pip end with their reason in `stderr`. */
function firstLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string | Buffer; message: string };
  const [line = message] = String(stderr ?? '')
    .split('\n')
    .filter((one) => one.trim() !== '');
  return line.trim();
}
