import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { API_SERVICE_ADDRESS, NODE_ADDRESS } from './network.ts';
import { KUBECONFIG, PKI } from './paths.ts';

const DAYS = '30';
const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', DAYS];
const BOTH_SIDES = ['-addext', 'extendedKeyUsage=serverAuth,clientAuth'];
const API_NAMES = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'].map((name) => `DNS:${name}`);

export const NODE_NAME = 'node-1';
const API_SERVER = 'https://127.0.0.1:6443';

/** Returns the path of a certificate, or with `key` of a private key. */
export function pki(name: string, extension: 'crt' | 'key' | 'pub' = 'crt'): string {
  return join(PKI, `${name}.${extension}`);
}

/** Creates the certificates of the control plane and the kubeconfig of an administrator. Requires the `openssl` command. */
export function createCertificates(): void {
  mkdirSync(PKI, { recursive: true, mode: 0o700 });
  openssl('req', '-x509', ...KEY, '-subj', '/CN=switchyard-kube', '-keyout', pki('ca', 'key'), '-out', pki('ca'));
  issue('apiserver', '/CN=kube-apiserver', [...API_NAMES, 'IP:127.0.0.1', `IP:${API_SERVICE_ADDRESS}`, `IP:${NODE_ADDRESS}`]);
  issue('admin', '/O=system:masters/CN=admin', ['DNS:admin']);
  issue('kubelet', '/O=system:masters/CN=kubelet', [`DNS:${NODE_NAME}`, `IP:${NODE_ADDRESS}`]);
  openssl('genpkey', '-algorithm', 'RSA', '-pkeyopt', 'rsa_keygen_bits:2048', '-out', pki('service-accounts', 'key'));
  openssl('pkey', '-in', pki('service-accounts', 'key'), '-pubout', '-out', pki('service-accounts', 'pub'));
  writeKubeconfig();
}

function issue(name: string, subject: string, names: readonly string[]): void {
  const alternatives = ['-addext', `subjectAltName=${names.join(',')}`, '-addext', 'basicConstraints=critical,CA:FALSE'];
  const signer = ['-CA', pki('ca'), '-CAkey', pki('ca', 'key')];
  const files = ['-keyout', pki(name, 'key'), '-out', pki(name)];
  openssl('req', '-x509', ...KEY, '-subj', subject, ...alternatives, ...BOTH_SIDES, ...signer, ...files);
}

function writeKubeconfig(): void {
  const encode = (path: string): string => readFileSync(path).toString('base64');
  const name = 'switchyard';
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: API_SERVER, 'certificate-authority-data': encode(pki('ca')) } }],
    users: [{ name, user: { 'client-certificate-data': encode(pki('admin')), 'client-key-data': encode(pki('admin', 'key')) } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
  writeFileSync(KUBECONFIG, stringify(kubeconfig), { mode: 0o600 });
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: 'pipe' });
}
