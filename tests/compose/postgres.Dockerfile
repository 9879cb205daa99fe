# PostgreSQL of Debian, with the variables of the image `postgres` that docker-compose.yaml uses.
ARG BASE
FROM ${BASE}
COPY start_postgres.sh /usr/local/bin/start_postgres.sh
RUN ln -s /usr/lib/postgresql/*/bin /opt/postgresql && mkdir -p /var/lib/postgresql/data && chown postgres /var/lib/postgresql/data
ENV PATH=/opt/postgresql:/usr/bin:/bin PGHOST=127.0.0.1
USER postgres
ENTRYPOINT ["sh", "/usr/local/bin/start_postgres.sh"]
