import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { NODE_ADDRESS } from './network.ts';
import { KUBECONFIG, STATE } from './paths.ts';
import { run } from './processes.ts';

export const PKI = join(STATE, 'pki');
export const API_SERVER = 'https://127.0.0.1:6443';
export const NODE_NAME = 'node-1';

/** Creates the certificate authorities, the certificates of the parts and the kubeconfig of an administrator. */
export function createCertificates(): void {
  mkdirSync(PKI, { recursive: true });
  if (existsSync(KUBECONFIG)) return;
  authority('ca');
  // A separate authority: the API server trusts its certificates to name any user.
  authority('front-proxy-ca');
  run('openssl', ['genrsa', '-out', 'service-account.key', '2048'], { cwd: PKI });
  run('openssl', ['rsa', '-in', 'service-account.key', '-pubout', '-out', 'service-account.pub'], { cwd: PKI });
  const names = ['kubernetes', 'kubernetes.default', 'kubernetes.default.svc', 'localhost'].map((name) => `DNS:${name}`);
  certificate('apiserver', '/CN=kube-apiserver', [`IP:127.0.0.1,IP:10.96.0.1,IP:${NODE_ADDRESS}`, ...names].join(','));
  certificate('admin', '/O=system:masters/CN=admin', 'DNS:admin');
  certificate('kubelet', '/O=system:masters/CN=kubelet', `IP:127.0.0.1,IP:${NODE_ADDRESS},DNS:${NODE_NAME}`);
  certificate('front-proxy', '/CN=front-proxy', 'DNS:front-proxy', 'front-proxy-ca');
  writeFileSync(KUBECONFIG, kubeconfig(), { mode: 0o600 });
}

function authority(name: string): void {
  run(
    'openssl',
    // prettier-ignore
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '3650', '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.crt`, '-addext', 'basicConstraints=critical,CA:TRUE'],
    { cwd: PKI },
  );
}

function certificate(name: string, subject: string, names: string, by = 'ca'): void {
  const extensions = join(PKI, `${name}.ext`);
  writeFileSync(extensions, `subjectAltName=${names}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  run('openssl', ['req', '-newkey', 'rsa:2048', '-nodes', '-subj', subject, '-keyout', `${name}.key`, '-out', `${name}.csr`], { cwd: PKI });
  run(
    'openssl',
    // prettier-ignore
    ['x509', '-req', '-in', `${name}.csr`, '-CA', `${by}.crt`, '-CAkey', `${by}.key`, '-CAcreateserial', '-days', '3650', '-out', `${name}.crt`, '-extfile', extensions],
    { cwd: PKI },
  );
}

function kubeconfig(): string {
  const encode = (file: string): string => readFileSync(join(PKI, file)).toString('base64');
  const user = { 'client-certificate-data': encode('admin.crt'), 'client-key-data': encode('admin.key') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster: { server: API_SERVER, 'certificate-authority-data': encode('ca.crt') } }],
    users: [{ name: 'admin', user }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'admin' } }],
    'current-context': 'local',
  });
}
