/** Who a process is for the bus. One of a user with a password, a token and a credentials file; a certificate goes with any. */
export interface BusCredentials {
  user?: string | undefined;
  password?: string | undefined;
  token?: string | undefined;
  /** The text of a credentials file: a JWT and the seed of its key. */
  credentials?: string | undefined;
  /** PEM texts. With any of them the connection is encrypted, or there is none. */
  tls?: { ca?: string; cert?: string; key?: string } | undefined;
}
