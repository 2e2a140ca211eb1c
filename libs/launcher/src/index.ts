export { banner, withoutCredentials, type Served } from './banner.ts';
export { commandHere } from './command-name.ts';
export { claimDataDirectory, dropToken, keepPrivately, keepToken, leaveNote, readPrivately, readToken } from './data-directory.ts';
export { describeProvider } from './provider.ts';
export { openRunFile, readRunFile } from './run-file.ts';
