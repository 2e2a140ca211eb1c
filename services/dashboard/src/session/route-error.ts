/** A route answered with an HTTP error. */
export class RouteError extends Error {
  override readonly name = 'RouteError';
  readonly status: number;

  constructor(path: string, status: number) {
    super(status === 403 ? `The token of this browser has no scope that ${path} requires.` : `${path} answered HTTP ${status}.`);
    this.status = status;
  }
}
