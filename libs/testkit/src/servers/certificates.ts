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
  /** Its own certificate. */
  ca: string;
  caPath: string;
  /** Of a server or a client on this machine, for a day. The same name again gives another one, in the same files. */
  issue(name: string): Certificate;
}

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
const HERE = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-addext', 'basicConstraints=critical,CA:FALSE'];

/** An authority of its own, whose files are in a directory. Needs the `openssl` command. */
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
