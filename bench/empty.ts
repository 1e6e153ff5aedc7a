/** An empty program, beside the others so that it finds the same deno.json: what `ollie pub` is measured against. */
