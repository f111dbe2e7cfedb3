/** The members of a Pod that pure functions of these pages read. */
export interface Pod {
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    annotations?: Record<string, string>;
    ownerReferences?: { kind: string; controller?: boolean }[];
  };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

/** A finished pod holds no resources, and a drain deletes it without asking. */
export const isFinished = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
