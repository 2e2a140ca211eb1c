import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A certificate and its key, as text and as files. */
export interface Certificate {
  cert: string;
  key: string;
  certPath: string;
  keyPath: string;
}

export interface Authority {
  /** Certificate of the authority. */
  ca: string;
  caPath: string;
  /** Issues a certificate for a server or client on this machine, valid for a day. Overwrites the files of the same name. */
  issue(name: string): Certificate;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
const HERE = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=critical,CA:FALSE'];

/** Creates a certificate authority with its files in a directory. Requires the `openssl` command. */
export function createAuthority(directory: string, name = 'ca'): Authority {
  const path = (file: string): string => join(directory, file);
  const make = (subject: string, ...more: string[]): Certificate => {
    const [certPath, keyPath] = [path(`${subject}.crt`), path(`${subject}.key`)];
    execFileSync('openssl', ['req', '-x509', ...KEY, '-subj', `/CN=${subject}`, ...more, '-keyout', keyPath, '-out', certPath], {
      stdio: 'pipe',
    });
    return { cert: readFileSync(certPath, 'utf8'), key: readFileSync(keyPath, 'utf8'), certPath, keyPath };
  };
  const own = make(name);
  return {
    ca: own.cert,
    caPath: own.certPath,
    issue: (subject) => make(subject, ...HERE, '-CA', own.certPath, '-CAkey', own.keyPath),
  };
}
