import { findSystemBinary } from './system-binary.ts';

let found: Promise<string> | undefined;

/** Where a Chromium is on the PATH; else says how to get one. */
export function findChromium(): Promise<string> {
  return (found ??= findSystemBinary({
    names: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    debianPackage: 'chromium',
    large: true,
  }));
}
