/** What the console operations answer, for the OpenAPI document. */
import { z } from 'zod';

const keyValue = z.object({ key: z.string(), value: z.string() });

export const modulesSchema = z
  .object({
    apiAddress: z.string().describe('Address of the API; empty: the same origin.'),
    assetsHostPath: z.string(),
    assetsURLPath: z.string().describe('Begins and ends with `/`.'),
    environment: z.array(keyValue).describe('`console.environment` in its order, then what HandleEnvVars tells this caller.'),
    _: z.string().describe('Opaque; changes when an open page should reload.'),
    envsFilter: z.string(),
    recurveIndex: z.boolean(),
  })
  .meta({ id: 'Console' });

export const envVarsSchema = z.record(z.string(), z.string()).meta({ id: 'EnvVars' });

export const languagesSchema = z
  .object({ availableLanguages: z.array(z.object({ id: z.string().describe('BCP 47'), name: z.string() }).meta({ id: 'LangInfo' })) })
  .meta({ id: 'LangsInfo' });

const pluginFile = z
  .object({
    plugin: z.string(),
    path: z.string(),
    contents: z.string(),
    encoding: z.enum(['utf-8', 'base64']),
    contentType: z.string(),
    sha256: z.string().describe('Of the decoded bytes, hex.'),
    configMap: z.string(),
  })
  .meta({ id: 'ConsolePluginFile' });

export const pluginFilesSchema = z
  .object({
    apiVersion: z.literal('console.platform.io/v1'),
    kind: z.literal('ConsolePluginFileList'),
    metadata: z.object({
      resourceVersion: z.string(),
      remainingItemCount: z.int().optional().describe('Files left out for want of room.'),
    }),
    items: z.array(pluginFile),
  })
  .meta({ id: 'ConsolePluginFileList' });
