//! For containers: the variables, and how the library gets in. A container has its own C library, so each text says
//! which images the library is for.

use super::{Variable, comment, line};
use anyhow::Context;
use std::fmt::Write;
use std::path::Path;

/// Where the library is in a container.
pub(super) const PATH: &str = "/usr/local/lib/libjeshim.so";
/// Where it is in a pod: in a volume, which must not hide a folder of the image.
pub(super) const POD_PATH: &str = "/jemalloc/libjeshim.so";

const IMAGES: &str = "# For images with glibc: Debian, Ubuntu, Fedora and their like. Alpine has musl.\n";

/// Lines for a Dockerfile.
pub(super) fn dockerfile(library: &Path, variables: &[Variable]) -> anyhow::Result<String> {
    let mut text = format!(
        "{IMAGES}# Before: cp {library} . (beside the Dockerfile). Put these lines last, before ENTRYPOINT and CMD:\n\
         # they hold for every RUN that follows.\n\
         COPY libjeshim.so {PATH}\n",
        library = comment(library),
    );
    for (name, value) in variables {
        // A Dockerfile replaces `$name`, in double quotes too.
        let value = line(name, value)?.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$");
        let _ = writeln!(text, "ENV {name}=\"{value}\"");
    }
    Ok(text)
}

/// A compose file, to be merged with the one that has the service.
pub(super) fn compose(library: &Path, variables: &[Variable]) -> anyhow::Result<String> {
    let source = compose_value(line("the library", library.as_os_str())?)?;
    let mut text = format!(
        "{IMAGES}# compose.jemalloc.yaml; then: docker compose -f compose.yaml -f compose.jemalloc.yaml up\n\
         services:\n  app: # the name of your service\n    environment:\n"
    );
    for (name, value) in variables {
        let _ = writeln!(text, "      {name}: {}", compose_value(line(name, value)?)?);
    }
    let _ = writeln!(
        text,
        "    volumes:\n      - type: bind\n        source: {source}\n        target: {PATH}\n        read_only: true"
    );
    Ok(text)
}

/// A strategic-merge patch for a Deployment.
pub(super) fn kubernetes(library: &Path, variables: &[Variable]) -> anyhow::Result<String> {
    let mut text = format!(
        "{IMAGES}# kubectl patch deployment NAME --patch-file THIS-FILE\n\
         # The library comes from an image of yours, by an init container that copies it into a volume:\n\
         #   cp {library} . && printf 'FROM busybox\\nCOPY libjeshim.so /libjeshim.so\\n' > Dockerfile\n\
         #   docker build -t REGISTRY/jeshim:1 . && docker push REGISTRY/jeshim:1\n\
         spec:\n  template:\n    spec:\n      volumes:\n        - name: jemalloc\n          emptyDir: {{}}\n\
         \x20     initContainers:\n        - name: jemalloc\n          image: REGISTRY/jeshim:1\n\
         \x20         command: [\"cp\", \"/libjeshim.so\", \"{POD_PATH}\"]\n\
         \x20         volumeMounts:\n            - name: jemalloc\n              mountPath: /jemalloc\n\
         \x20     containers:\n        - name: app # the name of your container\n          env:\n",
        library = comment(library),
    );
    for (name, value) in variables {
        // Kubernetes replaces `$(NAME)`.
        let value = yaml(&line(name, value)?.replace('$', "$$"))?;
        let _ = writeln!(text, "            - name: {name}\n              value: {value}");
    }
    text.push_str(
        "          volumeMounts:\n            - name: jemalloc\n              mountPath: /jemalloc\n              readOnly: true\n",
    );
    Ok(text)
}

/// compose replaces `$NAME`.
fn compose_value(text: &str) -> anyhow::Result<String> {
    yaml(&text.replace('$', "$$"))
}

/// A string in double quotes: YAML takes those of JSON.
fn yaml(text: &str) -> anyhow::Result<String> {
    serde_json::to_string(text).context("a value cannot be quoted")
}
