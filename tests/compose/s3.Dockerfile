# versitygw, built by scripts/ensure_versitygw.sh.
ARG BASE
FROM ${BASE}
COPY versitygw /usr/local/bin/versitygw
RUN mkdir /data
ENTRYPOINT ["/usr/local/bin/versitygw"]
