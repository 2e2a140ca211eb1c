/** The id of the blob that a job makes: 22 letters, as every blob id. */
export function toBlobId(jobId: string): string {
  return jobId.replace(/^job_/, 'blob_');
}
