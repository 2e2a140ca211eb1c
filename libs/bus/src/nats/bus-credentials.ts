/** Credentials of a process: user and password, a token, or a credentials file. A client certificate can be added to each of them. */
export interface BusCredentials {
  user?: string | undefined;
  password?: string | undefined;
  token?: string | undefined;
  /** Content of a credentials file: a JWT and the seed of its key. */
  credentials?: string | undefined;
  /** PEM texts. If any is set, the connection must be encrypted. */
  tls?: { ca?: string; cert?: string; key?: string } | undefined;
}
