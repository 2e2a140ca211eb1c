/** Saves a text as a file of the browser. */
export function download(name: string, text: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text]));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}
